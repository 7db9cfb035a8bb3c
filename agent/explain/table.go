package explain

import (
	"embed"
	"sync"

	"github.com/podstep/podstep/probes"
)

//go:embed texts.yaml
var texts embed.FS

// entry is what a code is called: in full, and in few words for a row of a list.
type entry struct {
	Text  probes.Text `yaml:"text"`
	Brief probes.Text `yaml:"brief"`
}

// table is read once. It is a part of the program: one that cannot be read is an
// error of whoever changed it, which every test of the package finds.
var table = sync.OnceValue(func() map[Code]entry {
	out := map[Code]entry{}
	if err := probes.ReadYAML(texts, "texts.yaml", &out); err != nil {
		panic(err.Error())
	}
	return out
})

// failureOf gives the code of a reason that the kubelet gives when it could not do
// something for a pod, such as ErrImagePull; ok is false if the table does not
// have the reason.
func failureOf(reason string) (c Code, ok bool) {
	c = failurePrefix + Code(reason)
	_, ok = table()[c]
	return c, ok
}

// failurePrefix stands before the kubelet's reasons in the table.
const failurePrefix = "failure."

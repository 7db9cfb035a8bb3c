package explain

import (
	"embed"
	"sync"

	"github.com/podstep/podstep/probes"
)

//go:embed texts.yaml
var texts embed.FS

// entry has the texts of a code: in full, and in few words for a row of a list.
type entry struct {
	Text  probes.Text `yaml:"text"`
	Brief probes.Text `yaml:"brief"`
}

// table reads the table once. The table is a part of the program: if it cannot be read, every
// test of the package fails.
var table = sync.OnceValue(func() map[Code]entry {
	out := map[Code]entry{}
	if err := probes.ReadYAML(texts, "texts.yaml", &out); err != nil {
		panic(err.Error())
	}
	return out
})

// failureOf returns the code for a reason that the kubelet gives when it could not do something
// for a pod, such as ErrImagePull. ok is false if the table does not have the reason.
func failureOf(reason string) (c Code, ok bool) {
	c = failurePrefix + Code(reason)
	_, ok = table()[c]
	return c, ok
}

// failurePrefix stands before the kubelet's reasons in the table.
const failurePrefix = "failure."

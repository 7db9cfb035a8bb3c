package weave

import (
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// HookPackage is the package that woven code calls.
const HookPackage = "github.com/podstep/podstep/probes/hook"

// MaxSteps is the number of switches that the hook has.
const MaxSteps = hook.MaxSteps

// Record says, in one line of text that stays in the program, what was woven
// into one package: hook.Woven reads it at run time, `podstep-weave report`
// from the file.
func Record(path, hash string, steps []*probes.Step, fails map[*probes.Step]bool, sums map[*probes.Step]string) string {
	words := []string{hook.RecordMark, path, hash}
	for _, s := range steps {
		word := s.Name + "=" + strconv.Itoa(s.ID)
		if fails[s] {
			word += "!"
		}
		word += ":" + sums[s]
		words = append(words, word)
	}
	return strings.Join(words, " ") + "\n"
}

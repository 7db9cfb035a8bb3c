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

// record says, in text that stays in the program, what was woven into one package: hook.Woven reads it at run time,
// `podstep-weave report` from the file.
func (t *Target) record(steps []*probes.Step, fails map[*probes.Step]bool, sums map[*probes.Step]string, misfits []hook.Misfit) string {
	words := []string{hook.RecordMark, t.Path, t.Hash}
	for _, s := range steps {
		word := s.Name + "=" + strconv.Itoa(s.ID)
		if fails[s] {
			word += "!"
		}
		word += ":" + sums[s]
		words = append(words, word)
	}
	lines := []string{strings.Join(words, " ")}
	if t.Version != "" {
		lines = append(lines, hook.KubernetesMark+" "+t.Version)
	}
	for _, m := range misfits {
		why := strings.Join(strings.Fields(m.Why), " ")
		lines = append(lines, strings.Join([]string{hook.MisfitMark, m.Step, m.Part, why}, " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

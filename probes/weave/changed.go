package weave

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
	"github.com/podstep/podstep/probes/memory"
)

// changed returns the fields and results of steps that are of another kind in another version than in the catalogue's: an
// expression such as podstepR1 compiles there too, and means something else. Of a version without a table nobody knows.
func changed(steps []*probes.Step, version string) (out []hook.Misfit) {
	own, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		return nil
	}
	other, err := memory.For(version)
	if err != nil {
		return nil
	}
	look := func(s *probes.Step, side memory.Side, prefix string, fields []probes.Field) {
		for _, f := range fields {
			a, known := own.Value(s.Name, side, f.Name)
			b, there := other.Value(s.Name, side, f.Name)
			if known && there && differs(a, b) {
				out = append(out, hook.Misfit{Step: s.Name, Part: prefix + f.Name, Why: f.Expr + " is another value in this version"})
			}
		}
	}
	for _, s := range steps {
		look(s, memory.Enter, probes.PartFieldPrefix, s.Fields)
		look(s, memory.Exit, probes.PartResultPrefix, s.Results)
	}
	return out
}

// differs reports whether a value that has a form is of another kind elsewhere. Whether it is there at all is the compiler's
// to decide.
func differs(own, other memory.Value) bool {
	switch {
	case own.Form == nil || other.None == memory.Missing:
		return false
	case other.Form == nil:
		return true
	}
	return own.Form.Kind != other.Form.Kind
}

// hashOf identifies misfits.
func hashOf(misfits []hook.Misfit) string {
	sum := sha256.Sum256(fmt.Append(nil, misfits))
	return hex.EncodeToString(sum[:4])
}

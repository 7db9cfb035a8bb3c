package hook

import (
	"strings"
	"testing"
)

func TestParseRecord(t *testing.T) {
	p, err := ParseRecord("podstep:woven k8s.io/x/y 0123 sync.pod=7!:0f1e merge.merge=0\n")
	if err != nil || p.Path != "k8s.io/x/y" || p.Hash != "0123" || p.Steps["sync.pod"] != (Step{7, true, "0f1e"}) || p.Steps["merge.merge"] != (Step{0, false, ""}) {
		t.Errorf("ParseRecord = %+v, %v", p, err)
	}
}

// FuzzParseRecord: records are looked for in the bytes of any program.
func FuzzParseRecord(f *testing.F) {
	f.Add("podstep:woven p h a=1 b=2!")
	f.Add("podstep:woven p h a=-1")
	f.Add("podstep:woven")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseRecord(s)
		if err != nil {
			return
		}
		if !strings.HasPrefix(strings.TrimSpace(s), RecordMark) {
			t.Errorf("took a record without its mark: %q", s)
		}
		for name, step := range p.Steps {
			if step.ID < 0 || step.ID >= MaxSteps {
				t.Errorf("step %q has id %d", name, step.ID)
			}
		}
	})
}

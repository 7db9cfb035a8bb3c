package takeover

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzState reads state files, which anybody with root may have written.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"path":"/run/x.sock","root":"/","pid":7,"dir":{"dev":1,"ino":2},"name":"x.sock","ours":{},"theirs":{"dev":1,"ino":3}}`))
	f.Add([]byte(`{"path":"x","name":"../y"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseState(b)
		if err != nil {
			return
		}
		if !filepath.IsAbs(s.Path) || strings.Contains(s.Name, "/") {
			t.Errorf("taken: %+v", s)
		}
		again, err := json.Marshal(s)
		if err != nil {
			return // a time beyond what can be written
		}
		if other, err := parseState(again); err != nil || other.Ours != s.Ours || other.Theirs != s.Theirs || other.Path != s.Path {
			t.Errorf("%+v is %+v, %v the second time", s, other, err)
		}
	})
}

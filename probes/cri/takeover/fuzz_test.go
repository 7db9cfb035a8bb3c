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

// FuzzOrder reads orders as the guard gets them.
func FuzzOrder(f *testing.F) {
	f.Add([]byte(`{"name":"x.sock","state":"/run/podstep/x.json","ours":{"dev":1,"ino":2},"theirs":{"dev":1,"ino":3}}`), []byte{})
	f.Add([]byte(`{"done":true}`), []byte{20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b, rights []byte) {
		_ = rightIn(rights)
		o, err := parseOrder(b)
		if err != nil {
			return
		}
		again, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := parseOrder(again); err != nil || other != o {
			t.Errorf("%+v is %+v, %v the second time", o, other, err)
		}
	})
}

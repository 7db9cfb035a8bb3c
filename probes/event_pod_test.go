package probes

import "testing"

func TestNamespacedName(t *testing.T) {
	for want, p := range map[string]Pod{
		"default/web": {Namespace: "default", Name: "web", UID: "u"},
		"node-1":      {Name: "node-1"},
		"uid u":       {Namespace: "default", UID: "u"},
		"":            {},
	} {
		if got := p.NamespacedName(); got != want {
			t.Errorf("%+v is named %q, want %q", p, got, want)
		}
	}
}

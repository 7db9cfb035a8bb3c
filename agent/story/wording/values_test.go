package wording

import (
	"fmt"
	"slices"
	"testing"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// TestValues: values stand in the catalogue's order, the others behind them by
// name; documents are YAML, and nothing in them reaches the terminal as it came.
func TestValues(t *testing.T) {
	got := Values([]probes.Field{{Name: "image"}, {Name: "gone"}, {Name: "empty"}}, map[string]any{
		"b": int64(2), "a": "two\n\tlines\x1b[2J", "image": "nginx", "empty": "", "request": probes.RawJSON(`{}`),
		"list": probes.RawJSON(`["x","y"]`), "spec": probes.RawJSON(`{"name":"web","containers":[{"name":"app","image":"nginx:1"}],"count":1}`),
	})
	want := []Value{
		{"image", "nginx"}, {"a", "two\n    lines\\x1b[2J"}, {"b", "2"}, {"list", "x, y"},
		{"spec", "containers:\n- image: nginx:1\n  name: app\ncount: 1\nname: web"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestRequest: the message of a call is the whole one if there is one.
func TestRequest(t *testing.T) {
	for name, c := range map[string]struct {
		args map[string]any
		want []string
	}{
		"nothing":   {nil, nil},
		"arguments": {map[string]any{"image": "nginx", "count": int64(1)}, []string{"count: 1", "image: nginx"}},
		"message":   {map[string]any{"image": "nginx", "request": probes.RawJSON(`{"image":{"image":"nginx"}}`)}, []string{"image:", "  image: nginx"}},
		"variables": {map[string]any{"request": probes.RawJSON(`{"config":{"envs":[{"key":"PASSWORD"}],"linux":{}}}`)},
			[]string{"config:", "  envs: # value: <redacted>", "  - key: PASSWORD", "  linux: {}"}},
		"cut short": {map[string]any{"request": probes.RawJSON(`{"image":{"im`)}, []string{`{"image":{"im`}},
		"a text":    {map[string]any{"request": "a\nb"}, []string{"a", "b"}},
	} {
		if got := Request(&history.Call{Args: c.args}); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

package probes

import "testing"

func TestFill(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"no argument":                            "no argument",
		"it has been restarted {one} times.":     "it has been restarted once.",
		"it has been restarted {two} times.":     "it has been restarted 2 times.",
		"{one} pods, {two} pods, {one}/{two}":    "1 pod, 2 pods, 1/2",
		"已重启 {one} 次":                            "已重启 1 次",
		"{none} times, {one} timestamps, {{one}": " times, 1 timestamps, {1",
	} {
		got := Fill(text, func(name string) string { return map[string]string{"one": "1", "two": "2"}[name] })
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

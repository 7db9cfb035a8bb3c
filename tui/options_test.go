package tui

import (
	"testing"

	"github.com/podstep/podstep/probes/words"
)

func TestAdapt(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		in   bool
		out  bool
		was  Options
		want Options
	}{
		{"a plain terminal", nil, true, true, Options{}, Options{Lang: words.English}},
		{"Chinese", map[string]string{"LANG": "zh_CN.UTF-8"}, true, true, Options{}, Options{Lang: words.Chinese}},
		{"the flag wins", map[string]string{"LANG": "zh_CN.UTF-8"}, true, true, Options{Lang: words.English}, Options{Lang: words.English}},
		{"an old locale", map[string]string{"LC_ALL": "de_DE.ISO-8859-1", "LANG": "C.UTF-8"}, true, true, Options{}, Options{Lang: words.English, ASCII: true}},
		{"POSIX", map[string]string{"LANG": "C"}, true, true, Options{}, Options{Lang: words.English, ASCII: true}},
		{"NO_COLOR", map[string]string{"NO_COLOR": "1"}, true, true, Options{}, Options{Lang: words.English, NoColour: true}},
		{"empty NO_COLOR", map[string]string{"NO_COLOR": ""}, true, true, Options{}, Options{Lang: words.English}},
		{"dumb", map[string]string{"TERM": "dumb"}, true, true, Options{}, Options{Lang: words.English, Plain: "TERM=dumb"}},
		{"screen reader", map[string]string{"ACCESSIBLE": "1"}, true, true, Options{}, Options{Lang: words.English, Plain: "ACCESSIBLE"}},
		{"no screen reader", map[string]string{"ACCESSIBLE": "false"}, true, true, Options{}, Options{Lang: words.English}},
		{"a pipe", nil, true, false, Options{}, Options{Lang: words.English, Plain: "stdout is not a terminal"}},
		{"no keys", nil, false, true, Options{}, Options{Lang: words.English, Plain: "stdin is not a terminal"}},
		{"the switch is named first", map[string]string{"TERM": "dumb"}, false, false, Options{Plain: "--plain"}, Options{Lang: words.English, Plain: "--plain"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.was
			got.Adapt(Terminal{In: c.in, Out: c.out, Getenv: func(k string) string { return c.env[k] }})
			if got != c.want {
				t.Errorf("options %+v, want %+v", got, c.want)
			}
		})
	}
}

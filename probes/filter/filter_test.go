package filter

import (
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

var events = map[string]*probes.Event{
	"create": {Seq: 1, Kind: probes.Enter, Stage: "syncpod", Step: "sync.pod", Pod: &probes.Pod{Namespace: "shop", Name: "web-1", UID: "u1"},
		Span: 7, Sync: 1, Goroutine: "worker", Probe: "woven", Fields: map[string]any{"updateType": "create", "attempt": int64(2), "ready": false}},
	"pull": {Seq: 2, Kind: probes.Exit, Stage: "image", Step: "image.EnsureImageExists", Pod: &probes.Pod{Namespace: "shop", Name: "web-1", UID: "u1"},
		Span: 8, Parent: 7, Sync: 3, Goroutine: "worker", Probe: "woven", Error: "rpc error: Image Not Found (404)", DurationNs: 3e9,
		Fields: map[string]any{"image": "docker.io/library/busybox:1.35", "waited": "1.5s", "request": probes.RawJSON(`{"spec":{"image":"busybox"}}`), "none": nil, "load": 0.75}},
	"note": {Seq: 3, Kind: probes.Note, Pod: &probes.Pod{Namespace: "default", Name: "db", UID: "u2"}, Probe: "woven"},
	"node": {Seq: 4, Kind: probes.Exit, Stage: "pleg", Step: "pleg.Relist", Goroutine: "pleg", Probe: "woven"},
}

func TestMatch(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "create pull note node",
		"  ":                            "create pull note node",
		"ns=shop":                       "create pull",
		"namespace=shop":                "create pull",
		"ns!=shop":                      "note node",
		"pod~web-*":                     "create pull",
		"pod=web":                       "",
		"pod=web-1":                     "create pull",
		"pod=shop/web-1":                "create pull",
		"pod~*/db":                      "note",
		`pod=""`:                        "node",
		"uid=u2":                        "note",
		"step~IMAGE.":                   "pull",
		"step~*image*":                  "pull",
		"step~image":                    "pull",
		"step~image.?nsure*":            "pull",
		"step=~^sync":                   "create",
		`error=~"\(\d+\)$"`:             "pull",
		"stage=syncpod or stage=image":  "create pull",
		"stage=syncpod|stage=image":     "create pull",
		"stage=syncpod || stage=image":  "create pull",
		"kind=exit slow>2s":             "pull",
		"took<=3s":                      "pull node",
		"slow<3s":                       "node",
		"err":                           "pull",
		"-err ns=shop":                  "create",
		"!err and ns=shop":              "create",
		"not err & ns=shop":             "create",
		`error~"not found"`:             "pull",
		"sync=3":                        "pull",
		"sync>=1":                       "create pull",
		"sync!=3":                       "create note node",
		"span=7":                        "create",
		"seq<3":                         "create pull",
		"goroutine=worker -kind=note":   "create pull",
		"probe=cri":                     "",
		"field.image~busybox":           "pull",
		"field.image":                   "pull",
		"field~busybox":                 "pull",
		"-field.image":                  "create note node",
		"field.request~'x'":             "",
		`field.request~"\"image\":"`:    "pull",
		"field.updateType=create":       "create",
		"field.updateType!=create":      "pull note node",
		"field.attempt>1":               "create",
		"field.attempt=2":               "create",
		"field.ready=false":             "create",
		"field.waited>1s":               "pull",
		"field.waited>2s":               "",
		"field.load<1":                  "pull",
		"field.none=\"\"":               "pull",
		"field.image>1":                 "",
		"web":                           "create pull",
		"shop/web":                      "create pull",
		"shop":                          "",
		"relist":                        "node",
		`"not found"`:                   "pull",
		"web found":                     "pull",
		"(web or db) -err":              "create note",
		"-(web or db)":                  "node",
		"web or db err":                 "create pull",
		`"err"`:                         "pull", // the word: rpc error
		`"or"`:                          "pull", // rpc error
		"kind=enter | ( kind=note )":    "create note",
		"--err":                         "pull",
		"*-1":                           "create pull",
		"((stage=pleg))":                "node",
		"step~cri.* OR step~pleg.relis": "node",
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, name := range strings.Fields("create pull note node") {
			if f.Match(events[name]) {
				got = append(got, name)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q selects %q, want %q", text, s, want)
		}
		stable(t, f)
	}
}

// stable checks that the text of a filter parses to the same filter.
func stable(t *testing.T, f *Filter) {
	t.Helper()
	again, err := Parse(f.String())
	if err != nil {
		t.Errorf("%q is printed and cannot be read: %v", f, err)
		return
	}
	if again.String() != f.String() {
		t.Errorf("%q becomes %q", f, again)
	}
	for name, e := range events {
		if again.Match(e) != f.Match(e) {
			t.Errorf("%q selects another way than before when printed: %s", f, name)
		}
	}
}

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		" a   and b ":         "a b",
		"a|b":                 "a or b",
		"(a or b) c":          "(a or b) c",
		"a or (b c)":          "a or b c",
		"not (a or b)":        "-(a or b)",
		"! a":                 "-a",
		`took>1500ms`:         `slow>1500ms`,
		`error~"a b"`:         `error~"a b"`,
		`error~"a"`:           `error~a`,
		`error~"a\"b\\ c\d"`:  `error~"a\"b\\ c\\d"`,
		`"err"`:               `"err"`,
		`"a=b"`:               `"a=b"`,
		`"-a"`:                `"-a"`,
		`"Or"`:                `"Or"`,
		`""`:                  `""`,
		`"field.x"`:           `"field.x"`,
		`field.x~y`:           `field.x~y`,
		`pod=a\b`:             `pod=a\b`,
		`"a\\=b"`:             `"a\\=b"`,
		"error~\"\u00e9\n\"":  "error~\"\u00e9\n\"",
		"pod~web kind=enter ": "pod~web kind=enter",
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if f.String() != want {
			t.Errorf("%s is printed %s, want %s", text, f, want)
		}
		stable(t, f)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"(a", 1, "this ( has no closing )"},
		{"a)", 2, "this ) has no opening ("},
		{"()", 2, "a term is missing before )"},
		{"a or", 5, "a term is missing"},
		{"or a", 1, `a term is missing before "or"`},
		{"a | | b", 5, `a term is missing before "or"`},
		{"and", 1, `a term is missing before "and"`},
		{"not", 4, "a term is missing"},
		{"-", 2, "a term is missing"},
		{"pod=", 5, "a value is missing"},
		{"pod= web", 5, "a value is missing"},
		{`error~"x`, 7, `this " has no closing "`},
		{"=x", 1, "= needs a key"},
		{"colour=red", 1, "there is no key colour; keys are pod ns"},
		{"容器 colour=red", 4, "there is no key colour"},
		{"field.=x", 1, "there is no key field."},
		{"kind=exits", 6, "kind is one of enter exit hold release fault drop note"},
		{"step=cri.*", 6, "= is exact; for a pattern write step~cri.*"},
		{"step!=cri.*", 7, "!= is exact; for a pattern write step!~cri.*"},
		{"slow=2s", 5, "slow does not go with =; write one of > < >= <="},
		{"slow>2", 6, "slow needs a duration"},
		{"sync=x", 6, "sync needs a number"},
		{"sync=2s", 6, "sync needs a number"},
		{"seq>NaN", 5, "seq needs a number"},
		{"sync~3", 5, "sync does not go with ~"},
		{"pod>x", 4, "pod does not go with >"},
		{"field.n>x", 9, "> needs a number or a duration"},
		{`error=~"("`, 8, "is not a regular expression: missing closing )"},
		{strings.Repeat("-", 100) + "a", 66, "nested too deeply"},
		{strings.Repeat("(", 100) + "a", 66, "nested too deeply"},
		{strings.Repeat("a ", 3000), maxLength, "too long"},
	} {
		f, err := Parse(c.text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%.20s is read as %v, %v", c.text, f, err)
			continue
		}
		if syntax.Column != c.column || !strings.Contains(syntax.Why, c.want) {
			t.Errorf("%.20s: %v; want column %d: %s", c.text, err, c.column, c.want)
		}
		if len(syntax.Pointer()) != c.column {
			t.Errorf("%.20s: pointer %q", c.text, syntax.Pointer())
		}
	}
}

// TestMatchOutline: without fields, a filter answers only as far as it can know.
func TestMatchOutline(t *testing.T) {
	outline := *events["pull"]
	outline.Fields = nil
	for text, want := range map[string]Answer{
		"":                          Yes,
		"err":                       Yes,
		"pod=db":                    No,
		"field.image~busybox":       Maybe,
		"field.image":               Maybe,
		"-field.image":              Maybe,
		"err field.image":           Maybe,
		"-err field.image":          No,
		"err or field.image":        Yes,
		"-(err or field.image)":     No,
		"-(pod=db field.image)":     Yes,
		"pod=db or -field.image~xx": Maybe,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.MatchOutline(&outline); got != want {
			t.Errorf("%q answers %d, want %d", text, got, want)
		}
	}
}

func TestMatchPod(t *testing.T) {
	pod := &probes.Pod{Namespace: "shop", Name: "web-1", UID: "u1"}
	for text, want := range map[string]bool{
		"": true, "pod~web": true, "pod~db": false, "web": true, "db": false, "uid=u1": true,
		"pod~web step~vol": true, "pod~db step~vol": false, "kind=exit": true, "slow>2s": true, "field.image": true,
		"not pod~web": false, "not step~vol": true, "ns=shop or step~vol": true,
		"err": true, `error~"not found"`: true, "error~denied": false,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.MatchPod(pod, "image not found"); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	f, _ := Parse("err")
	if f.MatchPod(pod, "") {
		t.Error("a pod without an error is taken for one with an error")
	}
}

// TestNamesPods: the terms that filter pods are told from those that filter events.
func TestNamesPods(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "err": false, "kind=hold or kind=release": false, "error~refused": false, "field.image~busybox": false, "slow>2s step~cri.*": false,
		"pod=web": true, "ns=shop err": true, "uid~6a88": true, "web": true, "kind=exit (err or -pod=web)": true,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.NamesPods(); got != want {
			t.Errorf("%q names pods: %v", text, got)
		}
	}
}

func TestEmpty(t *testing.T) {
	for text, want := range map[string]bool{"": true, " ": true, "a": false} {
		if f, err := Parse(text); err != nil || f.Empty() != want {
			t.Errorf("%q is empty: %t, %v", text, !want, err)
		}
	}
	if !(&Filter{}).Match(events["node"]) {
		t.Error("the zero filter does not select all")
	}
}

// FuzzParse: no text breaks the parser. What can be parsed can be printed and parsed again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`ns=shop pod~web-* step~cri.* stage=runtime kind=exit slow>2s err`, `error~"not found" sync=3`, `a or -(b | "c d")`,
		`field.image~busybox goroutine=worker -kind=note`, `error=~"(\d+)"`, `field.x>1.5s`, `"\\\""`, `not not a`, "\xff=\xfe", "a&b & c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Completions(text, nil)
		parsed, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Column < 1 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if len(parsed.String()) > maxLength {
			return // quotes have made it longer than a filter may be
		}
		stable(t, parsed)
	})
}

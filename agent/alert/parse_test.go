package alert

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/podstep/podstep/probes/filter"
)

// read writes an alert as it was understood.
func (a *Alert) read() string {
	var out []string
	for i := range a.parts {
		p := &a.parts[i]
		text := fmt.Sprintf("[%s]", p.filter)
		switch p.kind {
		case ofRunning:
			text += fmt.Sprint(" running>", p.longer)
		case ofState:
			text += fmt.Sprint(" state=", p.state, " for ", p.longer)
		}
		if p.absent {
			text = "not " + text
		}
		if p.within != 0 {
			text += fmt.Sprint(" within ", p.within)
		}
		out = append(out, text)
	}
	return strings.Join(out, " then ")
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"err":                                      "[err]",
		" step~cri.* slow>1s ":                     "[step~cri.* slow>1s]",
		"a or b":                                   "[a or b]",
		"field.image~busybox":                      "[field.image~busybox]",
		"running>2m":                               "[] running>2m0s",
		"step=image.pull running>2m":               "[step=image.pull] running>2m0s",
		"step=image.pull and running>2m":           "[step=image.pull] running>2m0s",
		"running>90s & step=a and ns=b":            "[step=a ns=b] running>1m30s",
		"(a or b) running>2m":                      "[a or b] running>2m0s",
		"-(a | b) AND running>1s":                  "[-(a or b)] running>1s",
		"state=stuck":                              "[] state=stuck for 0s",
		"state=stuck for 5m":                       "[] state=stuck for 5m0s",
		"ns=shop state=retry error~x for 5m":       "[ns=shop error~x] state=retry for 5m0s",
		"err then err":                             "[err] then [err]",
		"err THEN step=a WITHIN 30s":               "[err] then [step=a] within 30s",
		"a then not b within 30s":                  "[a] then not [b] within 30s",
		"a then not state=running within 1m":       "[a] then not [] state=running for 0s within 1m0s",
		"a then state=stuck for 5m within 1h":      "[a] then [] state=stuck for 5m0s within 1h0m0s",
		"a then -err within 1s":                    "[a] then [-err] within 1s",
		"a then running>2m then b":                 "[a] then [] running>2m0s then [b]",
		"a then b or c then not (d or e)within 5s": "[a] then [b or c] then not [d or e] within 5s",
		`"then" error~"a then b within 3s"`:        `[then error~"a then b within 3s"]`,
		`error~"running>2m" then "state=stuck"`:    `[error~running>2m] then ["state=stuck"]`,
		`-"then" then !"for"`:                      `[-then] then [-for]`,
		"(then or within) then (for)":              "[then or within] then [for]",
		"running state":                            "[running state]",
		"step~running>x":                           "[step~running>x]",
		"错误 then running>1s":                       "[错误] then [] running>1s",
	} {
		a, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := a.read(); got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"", 1, "a part is missing; write a filter such as err, or running>2m, or state=stuck"},
		{"  ", 3, "a part is missing"},
		{"then err", 1, "a part is missing"},
		{"err then", 9, "a part is missing"},
		{"err then not", 13, "a part is missing"},
		{"err then not within 3s", 14, "a part is missing"},
		{"err then then err", 10, "a part is missing"},
		{"err then not err", 17, "then not needs a time: write within, such as within 30s"},
		{"err then not err then a", 18, "then not needs a time"},
		{"a then not b within 3s then c", 24, "then not ... within ends an alert; nothing can come after it"},
		{"err within 3s", 5, "within stands after then"},
		{"a then err within", 18, "within needs a duration, such as 30s or 5m"},
		{"a then err within soon", 19, "within needs a duration"},
		{"a then err within -3s", 19, "within needs a duration"},
		{"a then err within 1000h", 19, "within takes at most 720h"},
		{"a then err within 3s within 4s", 22, "within stands once in a part"},
		{"a then err within 3s b", 22, "after a time comes then, or nothing"},
		{"state=stuck for", 16, "for needs a duration"},
		{"state=stuck for 5", 17, "for needs a duration"},
		{"state=stuck for 5m ns=a", 20, "after a time comes then, or nothing"},
		{"state=stuck for 5m for 6m", 20, "for stands once, and before within"},
		{"running>2m for 5m", 12, "for goes with state; a call that goes on is running>2m"},
		{"err for 5m", 5, "for goes with state, such as state=stuck for 5m"},
		{"state=stuk", 7, "state is one of held stuck retry working waiting running done gone"},
		{"state!=stuck", 6, "state goes with = alone, such as state=stuck"},
		{"state=~stuck", 6, "state goes with = alone"},
		{"state=", 7, "state is one of"},
		{"err then running>=2m", 17, "running goes with > alone, such as running>2m"},
		{"running<2m", 8, "running goes with > alone"},
		{"running>2", 9, "running> needs a duration"},
		{"running>", 9, "running> needs a duration"},
		{"-running>2m", 1, "running cannot be turned round; leave out the - or !"},
		{"a not running>2m", 3, "running cannot be turned round; leave out the not"},
		{"- running>2m", 1, "running cannot be turned round; leave out the -"},
		{"(running>2m or err)", 2, "running stands outside of ( )"},
		{"running>2m state=stuck", 12, "a part has one of running and state, once"},
		{"err or running>2m", 5, "or stands in ( ) where a part has running>2m: write (a or b) running>2m"},
		{"state=stuck | err", 13, "or stands in ( )"},
		{"and running>2m", 1, `a term is missing before "and"`},
		{"a and and running>2m", 7, `a term is missing before "and"`},
		{"running>2m and", 15, `a term is missing after "and"`},
		{"err then kind=exits", 15, "kind is one of enter exit hold release fault drop note"},
		{"err then step=cri.*", 15, "= is exact; for a pattern write step~cri.*"},
		{"容器 then colour=red", 9, "there is no key colour"},
		{"err then (a", 10, "this ( has no closing )"},
		{"err then a)", 11, "this ) has no opening ("},
		{"running>2m and colour=red", 16, "there is no key colour"},
		{`a then error~"x`, 14, `this " has no closing "`},
		{"a" + strings.Repeat(" then a", 9), 52, "an alert has at most 8 parts"},
		{strings.Repeat("a ", 3000), maxLength, "too long"},
	} {
		a, err := Parse(c.text)
		var syntax *filter.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%.40s is read as %v, %v", c.text, a, err)
			continue
		}
		if syntax.Column != c.column || !strings.Contains(syntax.Why, c.want) {
			t.Errorf("%.40s: %v; want column %d: %s", c.text, err, c.column, c.want)
		}
	}
}

// FuzzParse: any text is read or refused with a column in it, and an alert reads to itself.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"err", "step=image.pull and running>2m", "state=stuck for 5m", "a then not (b or c) within 30s", `"then" error~"a\"b" then x`, "running>", "(a", "-\"x", "容器 | b",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			var syntax *filter.SyntaxError
			if !errors.As(err, &syntax) || syntax.Why == "" || syntax.Column < 1 || len(text) <= maxLength && syntax.Column > utf8.RuneCountInString(text)+1 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := Parse(a.String())
		if err != nil || again.read() != a.read() {
			t.Errorf("%q is read as %s, and then as %v, %v", text, a.read(), again, err)
		}
		for i := range a.parts {
			if a.parts[i].text == "" || a.parts[i].filter == nil || a.parts[i].absent && a.parts[i].within == 0 {
				t.Errorf("%q: part %+v", text, a.parts[i])
			}
		}
	})
}

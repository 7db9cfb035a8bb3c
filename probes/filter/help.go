package filter

import (
	"slices"
	"strings"
	"unicode"

	"github.com/podstep/podstep/probes"
)

// Line is one line of the help on filters: an example, and what it means.
type Line struct{ Form, Text string }

var grammar = []struct {
	form string
	text probes.Text
}{
	{"web", probes.Text{En: "a word: in the pod's name, the step or the error", Zh: "单词：出现在 Pod 名称、步骤或错误里"}},
	{flagError, probes.Text{En: "with an error", Zh: "带有错误"}},
	{"field.image", probes.Text{En: "with this argument or result", Zh: "带有这个参数或结果"}},
	{"a b", probes.Text{En: "both", Zh: "两者都满足"}},
	{"a or b", probes.Text{En: "one of them, or both; also a | b", Zh: "满足其一即可；也可写 a | b"}},
	{"-a", probes.Text{En: "not; also !a, not a. (a or b) groups terms", Zh: "不满足；也可写 !a 或 not a。(a or b) 表示合在一起"}},
	{"key=v  key!=v", probes.Text{En: "is exactly v, or is not", Zh: "正好等于，或不等于"}},
	{"key~v  key!~v", probes.Text{En: "contains it, or matches a pattern with * and ?; upper and lower case are the same", Zh: "包含，或匹配带 * 和 ? 的模式；不分大小写"}},
	{"key=~v", probes.Text{En: "matches a regular expression", Zh: "匹配正则表达式"}},
	{"key>v  key<=v", probes.Text{En: "numbers and durations: 3, 1.5s, 200ms", Zh: "数字和时长：3、1.5s、200ms"}},
	{`"a b"`, probes.Text{En: `a value with spaces, ( ) or |; write \" and \\ in it`, Zh: `引号把含空格、( ) 或 | 的内容合在一起；其中可用 \" 和 \\`}},
}

// Describe explains the language, the grammar first, then the keys. lang is en
// or zh.
func Describe(lang string) []Line {
	var lines []Line
	for _, g := range grammar {
		lines = append(lines, Line{g.form, in(lang, g.text)})
	}
	for _, k := range keys {
		lines = append(lines, Line{k.form, in(lang, k.about)})
	}
	return lines
}

func in(lang string, t probes.Text) string {
	if lang == "zh" {
		return t.Zh
	}
	return t.En
}

// Completion is a way to go on with a filter that is being typed.
type Completion struct {
	// Text is the whole filter with the completion. Word is the word that was completed.
	Text, Word string
	About      probes.Text
}

// Completions offers ways to go on with the last term of what was typed: its key, or its value. values returns the
// values of a key that only the caller knows, such as the names of pods. It may be nil.
func Completions(typed string, values func(key string) []string) []Completion {
	start := lastTerm(typed)
	term := typed[start:]
	for term != "" && (term[0] == '-' || term[0] == '!') {
		term = term[1:]
	}
	before := typed[:len(typed)-len(term)]
	var out []Completion
	offer := func(head, word, tail string, about probes.Text) {
		out = append(out, Completion{Text: before + head + word + tail, Word: word, About: about})
	}
	if i := strings.IndexAny(term, "=~<>!"); i >= 0 {
		completeValue(term, i, values, offer)
		return out
	}
	for _, k := range keys {
		if strings.HasPrefix(k.name, term) {
			offer("", k.name, k.sort.operators()[0], k.about)
		}
	}
	if strings.HasPrefix(flagError, term) {
		offer("", flagError, "", grammar[1].text)
	}
	if values != nil {
		for _, name := range values(fieldPrefix) {
			if strings.HasPrefix(fieldPrefix+name, term) && term != "" {
				offer("", fieldPrefix+name, "~", probes.Text{})
			}
		}
	}
	return out
}

// lastTerm returns where the term begins that a person is typing.
func lastTerm(typed string) int {
	start, quoted := 0, false
	for i, r := range typed {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && (unicode.IsSpace(r) || strings.ContainsRune("()|", r)):
			start = i + len(string(r))
		}
	}
	return start
}

func completeValue(term string, at int, values func(string) []string, offer func(head, word, tail string, about probes.Text)) {
	k := keyNamed(term[:at])
	op := operatorAt(term[at:])
	if k == nil || op == "" || !slices.Contains(k.sort.operators(), op) {
		return
	}
	head, begun := term[:at+len(op)], strings.TrimPrefix(term[at+len(op):], `"`)
	name := k.name
	if k.sort == fieldKey {
		name = term[:at]
	}
	for _, v := range knownValues(name, values) {
		if strings.HasPrefix(strings.ToLower(v.word), strings.ToLower(begun)) {
			offer(head, quote(v.word), "", v.about)
		}
	}
}

type known struct {
	word  string
	about probes.Text
}

// knownValues returns the values of a key that the catalogue or the caller knows.
func knownValues(name string, values func(string) []string) (out []known) {
	if k := keyNamed(name); k != nil {
		for _, v := range k.values {
			out = append(out, known{word: v})
		}
	}
	if c, err := probes.Load(); err == nil {
		out = append(out, ofCatalogue(c, name)...)
	}
	if values != nil {
		for _, v := range values(name) {
			out = append(out, known{word: v})
		}
	}
	return out
}

func ofCatalogue(c *probes.Catalogue, name string) (out []known) {
	switch name {
	case "stage":
		for _, s := range c.Stages {
			out = append(out, known{s.Name, s.Title})
		}
	case "step":
		for i := range c.Steps {
			out = append(out, known{c.Steps[i].Name, c.Steps[i].Title})
		}
	case "goroutine":
		for i := range c.Steps {
			if g := (known{word: c.Steps[i].Goroutine}); !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out
}

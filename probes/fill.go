package probes

import "regexp"

// argument matches an argument in a text, with the noun behind it that it counts.
var argument = regexp.MustCompile(`\{(\w+)\}(?: (times|pods|containers|volumes)\b)?`)

// Fill puts arguments into a text, each in place of its {name}. In English a count of one has its noun in the
// singular, and 1 times is once.
func Fill(text string, arg func(name string) string) string {
	out, end := "", 0
	for _, m := range argument.FindAllStringSubmatchIndex(text, -1) {
		out += text[end:m[0]]
		end = m[1]
		v := arg(text[m[2]:m[3]])
		if m[4] < 0 {
			out += v
			continue
		}
		out += counted(v, text[m[4]:m[5]])
	}
	return out + text[end:]
}

// Fill puts arguments into a text, as the function does, in each language.
func (t Text) Fill(arg func(name string) Text) Text {
	return Text{
		En: Fill(t.En, func(name string) string { return arg(name).En }),
		Zh: Fill(t.Zh, func(name string) string { return arg(name).Zh }),
	}
}

// Arguments returns the names of the arguments of a text, in order.
func Arguments(text string) (names []string) {
	for _, m := range argument.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

func counted(n, noun string) string {
	switch {
	case n == "1" && noun == "times":
		return "once"
	case n == "1":
		return n + " " + noun[:len(noun)-1]
	}
	return n + " " + noun
}

package view

import "strings"

// span is a piece of a line in one ink; a rich line is made of them.
type span struct {
	text string
	ink  ink
}

type rich []span

// wrapped breaks a text into rich lines of one ink, all but the first with a
// hanging indent.
func wrapped(text string, w, hang int, k ink) []rich {
	if text == "" {
		return nil
	}
	var lines []rich
	for i, l := range wrap(text, max(1, w-hang)) {
		if i == 0 {
			lines = append(lines, rich{{l, k}})
			continue
		}
		lines = append(lines, rich{{strings.Repeat(" ", hang) + l, k}})
	}
	return lines
}

// rich writes a rich line, cut to its place.
func (f *frame) rich(line Rect, spans rich, ground ink) {
	total := 0
	for _, s := range spans {
		total += width(s.text)
	}
	clip := line
	if total > line.W {
		clip.W -= width(f.m.ellipsis)
	}
	x := line.X
	for _, s := range spans {
		x = f.c.put(clip, x, line.Y, s.text, s.ink.on(ground))
	}
	if total > line.W {
		f.c.put(line, clip.right(), line.Y, f.m.ellipsis, inkFaint.on(ground))
	}
}

// goWords are the words of Go that are worth a colour.
var goWords = wordSet("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false")

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// goLine colours a line of Go.
func goLine(s string, k ink) rich {
	s = strings.ReplaceAll(s, "\t", "    ")
	var line rich
	plain := 0
	cut := func(from, to int, k2 ink) {
		if plain < from {
			line = append(line, span{s[plain:from], k})
		}
		line = append(line, span{s[from:to], k2})
		plain = to
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case strings.HasPrefix(s[i:], "//"):
			cut(i, len(s), inkComment)
			i = len(s)
		case c == '"' || c == '`':
			end := quoted(s, i)
			cut(i, end, inkString)
			i = end
		case letter(c):
			end := i + 1
			for end < len(s) && (letter(s[end]) || s[end] >= '0' && s[end] <= '9') {
				end++
			}
			if goWords[s[i:end]] {
				cut(i, end, inkKeyword)
			}
			i = end
		default:
			i++
		}
	}
	if plain < len(s) {
		line = append(line, span{s[plain:], k})
	}
	return line
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quoted returns the end of the string that begins at i.
func quoted(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch {
		case s[j] == '\\' && s[i] == '"':
			j++
		case s[j] == s[i]:
			return j + 1
		}
	}
	return len(s)
}

// yamlLine colours a line of YAML: the names of fields, and comments.
func yamlLine(s string) rich {
	body := strings.TrimLeft(s, " ")
	lead := s[:len(s)-len(body)]
	for strings.HasPrefix(body, "- ") {
		lead, body = lead+"- ", body[2:]
	}
	if strings.HasPrefix(body, "#") {
		return rich{{s, inkComment}}
	}
	name, value, found := strings.Cut(body, ":")
	if !found || strings.ContainsAny(name, `"' {[`) || value != "" && value[0] != ' ' {
		return rich{{lead + body, inkPlain}}
	}
	return rich{{lead, inkPlain}, {name + ":", inkField}, {value, inkPlain}}
}

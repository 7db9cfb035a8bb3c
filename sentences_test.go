package podstep

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// TestCommentsAreReadOnce checks that no comment has one of four habits for which a reader has to go back: "X is that Y"
// for a handler or a field, "has Y be done", "what of the A", and "who" without the person that it stands for.
func TestCommentsAreReadOnce(t *testing.T) {
	for path, text := range sources(t) {
		if path == "sentences_test.go" {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Comments {
			for _, found := range habitsIn(c.Text()) {
				t.Errorf("%s: %q: %s", set.Position(c.Pos()), found.text, found.instead)
			}
		}
	}
}

// habit is a form of a sentence, and what to write in its place.
type habit struct {
	form    *regexp.Regexp
	instead string
	// allowed are what may stand in it after all.
	allowed *regexp.Regexp
}

var habits = []habit{
	{regexp.MustCompile(`\b\w+ is that \w+`), "write what it does, or when it is called", regexp.MustCompile(`\b(reason|rule|point|idea|result|price|truth|danger|difference|consequence|aim|effect) is that|is that of`)},
	{regexp.MustCompile(`\bha(s|ve|d) (?:[\w'’-]+ ){1,5}be \w+`), "write makes, lets, or the verb itself", regexp.MustCompile(`\bha(s|ve|d) (\w+ )?to be |\b(can|may|must|will|would|should|could|cannot|might|to|and|that|which|or|who) be `)},
	{regexp.MustCompile(`\bwhat of (the|its|his|their|a|an|that|this|these|those)\b`), "write the part of it that", nil},
	{regexp.MustCompile(`(?:^|[.:;,(—–-] ?|\b(?:to|of|for|by|with|as|from|and|or|than|what|when|where|if|is|are|not|has|have|but|because) )[Ww]ho (?:has|is|asks|arms|holds|calls|was|wants|waits|sends|reads|runs|launched|called|adds|may|can|does|comes|goes|made|takes)\b`), "name the person, the caller, the client, the kubelet", regexp.MustCompile(`(?:(?:who|which)[^.]*[,?] ?(and|or|as|is|of) who|, (and )?who (has|is|was))`)},
}

type foundHabit struct{ text, instead string }

// habitsIn finds the habits in a comment.
func habitsIn(comment string) (all []foundHabit) {
	comment = strings.Join(strings.Fields(comment), " ")
	for _, h := range habits {
		for _, text := range h.form.FindAllString(comment, -1) {
			if h.allowed == nil || !h.allowed.MatchString(text) {
				all = append(all, foundHabit{text, h.instead})
			}
		}
	}
	return all
}

func TestHabitsIn(t *testing.T) {
	for text, want := range map[string]int{
		"held is that the hold process has parked a goroutine.": 1,
		"has goroutines be held here":                           1,
		"drop has a span be found no more":                      1,
		"what of the list fits":                                 1,
		"Who arms calls announce after it":                      1,
		"Who has so much to take in, or who is behind":          2,
		"the caller who asks":                                   0,
		"it has to be written, and a file that has been read":   0,
		"the reason is that the kubelet waits":                  0,
		"a person, who has a terminal":                          0,
		"the kubelet that calls":                                0,
	} {
		if got := habitsIn(text); len(got) != want {
			t.Errorf("%q: found %q, want %d", text, got, want)
		}
	}
}

package causes

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// momentary reports whether evidence only says what was so at a time: an event, or a line of a log. All else is so now.
func momentary(e *Evidence) bool {
	return e.Source == evidence.Log || e.Source == evidence.API && strings.HasPrefix(e.Where.En, "event ")
}

// TestCertain: whoever calls a cause certain shows something that is so now, and not only what was said once.
func TestCertain(t *testing.T) {
	found := map[string]string{}
	for file, s := range recorded(t) {
		r := Explain(s)
		for i := range r.Findings {
			f := &r.Findings[i]
			if f.Confidence == Certain && !slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return !momentary(&e) }) {
				found[f.Cause.ID] = file
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s is certain by events and lines of logs alone: %s", id, found[id])
	}
}

// TestSureMatch: the table cannot make a cause certain by what may be over.
func TestSureMatch(t *testing.T) {
	for name, m := range map[string]*Match{
		"event": {Event: &EventMatch{}, Sure: Certain}, "log": {Log: &LogLine{Message: expr("x")}, Sure: Certain},
	} {
		if err := m.compile(); err == nil {
			t.Errorf("a match of an %s makes a cause certain", name)
		}
		if m.Sure = Likely; m.compile() != nil {
			t.Errorf("%s: %v", name, m.compile())
		}
	}
}

// ownWords matches a sentence of podstep's own that is there in one language.
var ownWords = regexp.MustCompile(`words\.Same\("[^"]*\b[a-z]+ [a-z]+ [a-z]+`)

// TestEvidenceInBoth: what evidence says is there in both languages. The same in both are names, and what others wrote.
func TestEvidenceInBoth(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if s := ownWords.Find(source); s != nil && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s: %s is in one language", file, s)
		}
	}
	chinese := 0
	for file, s := range recorded(t) {
		r := Explain(s)
		for i := range r.Findings {
			for _, e := range r.Findings[i].Evidence {
				if e.Where.En == "" || e.Where.Zh == "" || (e.Text.En == "") != (e.Text.Zh == "") {
					t.Errorf("%s: %s has evidence without words: %+v", file, r.Findings[i].Cause.ID, e)
				}
				if e.Where.En != e.Where.Zh {
					chinese++
				}
			}
		}
	}
	if chinese < 500 {
		t.Errorf("only %d pieces of evidence say in Chinese where they are seen", chinese)
	}
}

// TestPhaseWords: each phase has a name in Chinese.
func TestPhaseWords(t *testing.T) {
	for _, p := range phases {
		if zh := p.In(words.Chinese); zh == string(p) || p.In(words.English) != string(p) {
			t.Errorf("phase %s is %s in Chinese", p, zh)
		}
	}
}

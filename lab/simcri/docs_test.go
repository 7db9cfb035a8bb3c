package simcri

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/sim.md anew")

const (
	docsPage = "../../docs/sim.md"
	opens    = "<!-- settings: made in lab by go test ./simcri -update -->\n"
	closes   = "<!-- /settings -->"
)

// table returns the page's table of the settings.
func table() string {
	var b strings.Builder
	b.WriteString("\n| name | of | value | meaning |\n|---|---|---|---|\n")
	for _, s := range Settings() {
		of := "pod, container"
		if s.PodOnly {
			of = "pod"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, of, s.Value, s.Help)
	}
	return b.String() + "\n"
}

func TestDocs(t *testing.T) {
	page := readFile(t, docsPage)
	before, rest, ok := strings.Cut(page, opens)
	old, after, ok2 := strings.Cut(rest, closes)
	if !ok || !ok2 {
		t.Fatal("the page has no place for the table")
	}
	if *update {
		if err := os.WriteFile(docsPage, []byte(before+opens+table()+closes+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table() {
		t.Errorf("docs/sim.md is not what the code says; go test ./simcri -update, in lab, makes it again")
	}
}

// TestDocsOfScenario: the page names each key of the file, and no other.
func TestDocsOfScenario(t *testing.T) {
	page := readFile(t, docsPage)
	keys := 0
	for _, group := range reflect.VisibleFields(reflect.TypeFor[scenarioYAML]()) {
		of := group.Type
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		for _, f := range reflect.VisibleFields(of) {
			keys++
			if row := fmt.Sprintf("\n| `%s.%s` |", group.Tag.Get("yaml"), f.Tag.Get("yaml")); !strings.Contains(page, row) {
				t.Errorf("docs/sim.md has no row %q", row)
			}
		}
	}
	for _, group := range []string{"node", "images", "rules"} {
		keys -= strings.Count(page, "\n| `"+group+".")
	}
	if keys != 0 {
		t.Error("docs/sim.md has rows for keys that do not exist")
	}
}

package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// joined puts pages together again: lists after each other, objects member by member.
func joined(a, b any) any {
	switch a := a.(type) {
	case []any:
		b := b.([]any)
		if len(a) > 0 && len(b) > 0 && isPart(a[len(a)-1], b[0]) {
			return append(append(slices.Clone(a[:len(a)-1]), joined(a[len(a)-1], b[0])), b[1:]...)
		}
		return append(slices.Clone(a), b...)
	case map[string]any:
		out := maps.Clone(a)
		for k, v := range b.(map[string]any) {
			if before, ok := out[k]; ok {
				v = joined(before, v)
			}
			out[k] = v
		}
		return out
	case string:
		if rest, ok := strings.CutPrefix(b.(string), goesOn); ok {
			return strings.TrimSuffix(a, goesOn) + rest
		}
	}
	return a
}

// isPart reports whether b, an item of a list, is the rest of the item a of the page before: they have the same id.
func isPart(a, b any) bool {
	x, ok := a.(map[string]any)
	y, too := b.(map[string]any)
	if ok && too {
		return x["id"] != nil && x["id"] == y["id"]
	}
	s, ok := b.(string)
	return ok && strings.HasPrefix(s, goesOn)
}

// pagesOf divides a document, and checks each page.
func pagesOf(t testing.TB, doc json.RawMessage) (pages []any) {
	t.Helper()
	raw, err := divide(doc)
	if err != nil {
		t.Fatalf("%v in %.200s", err, doc)
	}
	for i, p := range raw {
		whole := append(append([]byte{'{'}, p...), '}')
		var v map[string]any
		if err := json.Unmarshal(whole, &v); err != nil {
			t.Fatalf("page %d is no JSON: %v: %s", i, err, whole)
		}
		if len(whole) > MaxPage-counters+len(`{}`) {
			t.Errorf("page %d has %d bytes", i, len(whole))
		}
		pages = append(pages, v)
	}
	return pages
}

func encode(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := document(&Answer{Result: v})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

type item struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Evidence []string `json:"evidence,omitempty"`
}

// TestDivide: nothing of a document is lost, and nothing changes its place; values that fit are whole.
func TestDivide(t *testing.T) {
	var many []item
	for i := range 60 {
		many = append(many, item{fmt.Sprint(i), strings.Repeat("x", i*10), nil})
	}
	large := item{ID: "large", Text: "a text"}
	for i := range 100 {
		large.Evidence = append(large.Evidence, fmt.Sprintf("line %d %s", i, strings.Repeat("é", 40)))
	}
	for name, v := range map[string]any{
		"small": []item{{"a", "b", nil}}, "none": []item{}, "many": many, "large": []item{many[0], large, many[1]},
		"text": []item{{"long", strings.Repeat("a \"word\" and \\ 中文 \u202e ", 500), nil}}, "null": nil,
		"texts": []string{"short", strings.Repeat("y", 9000), "short too"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := encode(t, v)
			pages := pagesOf(t, doc)
			if (len(doc) <= MaxPage-counters) != (len(pages) == 1) {
				t.Errorf("%d bytes are on %d pages", len(doc), len(pages))
			}
			all := pages[0]
			for _, p := range pages[1:] {
				all = joined(all, p)
			}
			var want any
			if err := json.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(all, want) {
				t.Errorf("the pages together are\n%.600v\nwant\n%.600v", all, want)
			}
		})
	}
}

// TestHeads: each page with a part of an object has its short members, so that one knows what it is a part of; what
// could not be seen comes first.
func TestHeads(t *testing.T) {
	type report struct {
		Pod      string   `json:"pod"`
		State    string   `json:"state"`
		Findings []item   `json:"findings"`
		Unseen   []string `json:"unseen"`
	}
	large := item{ID: "large"}
	for i := range 200 {
		large.Evidence = append(large.Evidence, fmt.Sprintf("line %d %s", i, strings.Repeat("x", 40)))
	}
	pages := pagesOf(t, encode(t, report{"web", "stuck", []item{large}, []string{"the log"}}))
	for i, p := range pages {
		answer := p.(map[string]any)["answer"].(map[string]any)
		finding := answer["findings"].([]any)[0].(map[string]any)
		if answer["pod"] != "web" || answer["state"] != "stuck" || finding["id"] != "large" {
			t.Errorf("page %d does not say what it is of: %.300v", i, p)
		}
		if (answer["unseen"] != nil) != (i == 0) {
			t.Errorf("page %d has the unseen %v", i, answer["unseen"])
		}
	}
	if len(pages) < 3 {
		t.Errorf("there are %d pages", len(pages))
	}
}

// FuzzDivide divides any object. Each page is JSON, and no longer than it may be.
func FuzzDivide(f *testing.F) {
	f.Add([]byte(`{"answer":[{"a":"b"}]}`))
	f.Add([]byte(`{"a":{"b":{"c":{"d":{"e":["` + strings.Repeat("x", 5000) + `"]}}}}}`))
	f.Add([]byte(`{"` + strings.Repeat("k", 6000) + `":1,"n":` + strings.Repeat("9", 5000) + `}`))
	f.Add([]byte(`{"a":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + `}`))
	f.Add([]byte(`{"a":` + strings.Repeat(`{"`+strings.Repeat("k", 90)+`":`, 90) + "1" + strings.Repeat("}", 90) + `}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var compact bytes.Buffer
		if json.Compact(&compact, doc) != nil || compact.Len() == 0 || compact.Bytes()[0] != '{' || compact.Len() > 64<<10 {
			t.Skip()
		}
		// podstep writes valid UTF-8.
		pagesOf(t, []byte(strings.ToValidUTF8(compact.String(), "?")))
	})
}

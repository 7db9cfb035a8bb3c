package redact

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestRecordedTextsStay: no text that was recorded on a real node changes: the texts have no secrets, and readers of
// a trace want to read them.
func TestRecordedTextsStay(t *testing.T) {
	seen := map[string]bool{}
	for _, glob := range []string{"../trace/testdata/*.jsonl", "../../docs/tours/testdata/stories/*.jsonl", "testdata/messages.jsonl"} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s, %v", glob, err)
		}
		for _, file := range files {
			eachText(t, file, func(text string) { seen[text] = true })
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d texts are recorded", len(seen))
	}
	for text := range seen {
		if got := Text(text); got != text {
			t.Errorf("%q\nbecomes %q", text, got)
		}
	}
}

// eachText calls each with all texts in a file of JSON values, one a line.
func eachText(t *testing.T, file string, each func(string)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v any
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		texts(v, each)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func texts(v any, each func(string)) {
	switch v := v.(type) {
	case string:
		each(v)
		var within any
		if json.Unmarshal([]byte(v), &within) == nil {
			if _, again := within.(string); !again {
				texts(within, each)
			}
		}
	case []any:
		for _, x := range v {
			texts(x, each)
		}
	case map[string]any:
		for k, x := range v {
			each(k)
			texts(x, each)
		}
	}
}

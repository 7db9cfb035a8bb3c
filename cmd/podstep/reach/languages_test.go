package reach

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/podstep/podstep/probes/words"
)

// TestBothLanguages: each sentence of doctor's own is there in both languages. What is the same in both is a name, a path
// or an error, and never a sentence in the source.
func TestBothLanguages(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	both := regexp.MustCompile(`words\.Text\(("(?:[^"\\]|\\.)*"), ("(?:[^"\\]|\\.)*")\)`)
	same := regexp.MustCompile(`words\.Same\("[^"]* [^"]*"`)
	n := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if s := same.FindString(string(source)); s != "" {
			t.Errorf("%s: %s is in one language", file, s)
		}
		for _, m := range both.FindAllStringSubmatch(string(source), -1) {
			n++
			if en, zh := m[1], m[2]; en != zh && !strings.ContainsFunc(zh, func(r rune) bool { return unicode.Is(unicode.Han, r) || strings.ContainsRune("，；：", r) }) && zh != `"worker"` {
				t.Errorf("%s: %s has no Chinese, but %s", file, en, zh)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d sentences were found", n)
	}
}

// TestLines: a check is written in the language that is asked for, to people and to programs.
func TestLines(t *testing.T) {
	checks := []Check{ok("cgroup", words.Text("version 2", "版本 2")), warn("kernel", words.Text("/proc cannot be read", "无法读取 /proc"), mountProc)}
	var out strings.Builder
	Print(&out, Lines(words.Chinese, checks))
	if want := "ok    cgroup           版本 2\nwarn  kernel           无法读取 /proc\n                       -> 挂载 /proc\n"; out.String() != want {
		t.Errorf("doctor says %q", &out)
	}
	text, err := json.Marshal(Lines(words.English, checks))
	if want := `[{"name":"cgroup","status":"ok","text":"version 2"},{"name":"kernel","status":"warn","text":"/proc cannot be read","todo":"mount /proc"}]`; err != nil || string(text) != want {
		t.Errorf("as JSON %s, %v", text, err)
	}
}

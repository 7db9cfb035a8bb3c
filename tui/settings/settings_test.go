package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/words"
)

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "podstep", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ config, home, want string }{
		{"/x", "/h", "/x/podstep/config.yaml"}, {"", "/h", "/h/.config/podstep/config.yaml"}, {"relative", "/h", "/h/.config/podstep/config.yaml"}, {"", "", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": c.config, "HOME": c.home}
		if got := Path(func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.config, c.home, got, c.want)
		}
	}
}

// TestProblems: each mistake is named with its line, and the other settings take effect.
func TestProblems(t *testing.T) {
	path := written(t, `# mine
theme: pink
language: zh
colour: red
sort: [name]
columns: [step, age]
language: en
keys:
  step.into: Ctrl+S
  step.over: [PgDn, nokey]
  step.into: x
`)
	f := Load(path)
	var lines []string
	for _, p := range f.Problems(words.English) {
		line, _, _ := strings.Cut(strings.TrimPrefix(p, path+":"), ":")
		lines = append(lines, line)
	}
	if got := strings.Join(lines, " "); got != "2 4 5 6 7 10 11" {
		t.Errorf("problems in lines %s:\n%s", got, strings.Join(f.Problems(words.English), "\n"))
	}
	if zh := f.Problems(words.Chinese); !strings.Contains(zh[1], "没有 \"colour\" 这项设置") {
		t.Errorf("in Chinese: %s", zh[1])
	}
	if f.Get(Language) != "zh" || f.Get(Theme) != "" || !slices.Equal(f.List(Columns), []string{"step"}) {
		t.Errorf("language %q, theme %q, columns %q", f.Get(Language), f.Get(Theme), f.List(Columns))
	}
	if k := f.Keys(); len(k) != 2 || k[0].Keys[0] != "ctrl+s" || k[1].Keys[0] != "pgdown" || k[1].Line != 10 {
		t.Errorf("keys %+v", k)
	}
}

// TestUnusable: nothing is changed in a file that is no file of settings.
func TestUnusable(t *testing.T) {
	for _, text := range []string{"theme: [", "- a\n", "just words\n"} {
		path := written(t, text)
		f := Load(path)
		if len(f.Problems(words.English)) != 1 || !strings.Contains(f.Problems(words.English)[0], "line 1") {
			t.Errorf("%q: %q", text, f.Problems(words.English))
		}
		f.Set(Theme, "dark")
		if err := f.Keep(); err == nil {
			t.Errorf("%q was written", text)
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
	if f := Load(t.TempDir()); len(f.Problems(words.English)) != 1 {
		t.Errorf("a directory: %q", f.Problems(words.English))
	}
	if f := Load(filepath.Join(t.TempDir(), "none")); len(f.Problems(words.English)) != 0 {
		t.Errorf("no file: %q", f.Problems(words.English))
	}
}

// TestKeep: only the chosen settings change. The file keeps its comments, its mode, and a link to it.
func TestKeep(t *testing.T) {
	path := written(t, "# mine, all of it\ntheme: light # at noon\n\n# keys that I like\nkeys:\n  step.into: x # short\n")
	link := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	f := Load(link)
	f.Set(Theme, "dark")
	f.Set(Columns, []string{"step", "seen"})
	if err := f.Keep(); err != nil {
		t.Fatal(err)
	}
	now, _ := os.ReadFile(path)
	want := "# mine, all of it\ntheme: dark # at noon\n\n# keys that I like\nkeys:\n  step.into: x # short\ncolumns: [step, seen]\n"
	if got := string(now); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is one no more")
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v", info.Mode())
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if again := Load(path); again.Get(Theme) != "dark" || len(again.Problems(words.English)) != 0 {
		t.Errorf("read again: %q, %q", again.Get(Theme), again.Problems(words.English))
	}
}

// TestOddlyWritten: Keep never spoils a file of settings that does not have each setting in one line.
func TestOddlyWritten(t *testing.T) {
	for _, text := range []string{"{theme: light, language: en}\n", "columns:\n- step\n- seen\n", "theme: >\n  light\n", "---\ntheme: light\n...\n"} {
		path := written(t, text)
		f := Load(path)
		f.Set(Theme, "dark")
		f.Set(Columns, []string{"step"})
		err := f.Keep()
		now, _ := os.ReadFile(path)
		if err != nil && string(now) != text || err == nil && (Load(path).Get(Theme) != "dark" || len(Load(path).Problems(words.English)) > 0) {
			t.Errorf("%q became %q: %v", text, now, err)
		}
	}
}

// TestBegun: a missing file is created, with its directory. A file of comments alone keeps them.
func TestBegun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "config.yaml")
	f := Load(path)
	f.Set(Language, "zh")
	if err := f.Keep(); err != nil {
		t.Fatal(err)
	}
	if again := Load(path); again.Get(Language) != "zh" {
		now, _ := os.ReadFile(path)
		t.Errorf("the file is %q", now)
	}
	path = written(t, "# nothing yet\n")
	f = Load(path)
	f.Set(Sort, "name")
	if err := f.Keep(); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(path); !strings.Contains(string(now), "# nothing yet") || Load(path).Get(Sort) != "name" {
		t.Errorf("the file is %q", now)
	}
	var none *File
	none.Set(Theme, "dark")
	if none.Keep() != nil || none.Get(Theme) != "" || none.Problems(words.English) != nil {
		t.Error("no file has settings")
	}
}

// TestProblemOrder: problems are in the order of their lines, whoever found them.
func TestProblemOrder(t *testing.T) {
	f := Load("")
	for _, line := range []int{7, 2, 0, 7, 3} {
		f.Reject(line, words.Text("a", "b"))
	}
	var got []int
	for _, p := range f.problems {
		got = append(got, p.Line)
	}
	if !slices.Equal(got, []int{0, 2, 3, 7, 7}) {
		t.Errorf("the problems are in lines %v", got)
	}
}

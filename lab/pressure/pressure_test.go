package pressure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Amounts{
		"":                                  Idle,
		"# nothing\n\n":                     Idle,
		"memory.available=50Mi":             {50 << 20, Idle.Disk, Idle.Inodes},
		" nodefs.available = 3% # full\r\n": {Idle.Memory, 3 * gib, Idle.Inodes},
		"nodefs.inodesFree=1k\nmemory.available=0.5%\n": {Capacity.Memory / 200, Idle.Disk, 1000},
		"memory.available=1Gi\nmemory.available=0":      {0, Idle.Disk, Idle.Inodes},
		"memory.available=100%":                         {Capacity.Memory, Idle.Disk, Idle.Inodes},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q gives %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"memory.available":             "line 1: \"memory.available\" is not SIGNAL=QUANTITY",
		"\nmemory=1Gi":                 "line 2: no signal \"memory\": there are memory.available",
		"memory.available=lots":        `memory.available: "lots" is no quantity`,
		"memory.available=":            "is no quantity",
		"memory.available=%":           "is no quantity",
		"memory.available=-1":          "-1 is not between 0 and the 8589934592",
		"memory.available=-0.1%":       "is not between",
		"nodefs.available=101%":        "is not between",
		"memory.available=9Gi":         "is not between",
		"memory.available=1e999999999": "is no quantity",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pressure")
	read := func(want Amounts) {
		t.Helper()
		if got, err := Read(file); err != nil || got != want {
			t.Errorf("the file says %+v, %v, want %+v", got, err, want)
		}
	}
	read(Idle)
	if err := Write(file, "memory.available=1Mi\n"); err != nil {
		t.Fatal(err)
	}
	low := Idle
	low.Memory = 1 << 20
	read(low)
	if err := Write(file, "memory.available=x"); err == nil {
		t.Error("nonsense was written")
	}
	read(low)
	for range 2 { // the second time there is no file
		if err := Write(file, "\n"); err != nil {
			t.Fatal(err)
		}
		read(Idle)
	}
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil {
		t.Error("a directory was read")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"memory.available=50Mi", "nodefs.available=3%\n#", "=", "memory.available=1e9", "nodefs.inodesFree=-5%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil && a != Idle {
			t.Errorf("%q fails and changes something: %+v", text, a)
		}
		if a.Memory > Capacity.Memory || a.Disk > Capacity.Disk || a.Inodes > Capacity.Inodes {
			t.Errorf("%q leaves more than there is: %+v", text, a)
		}
	})
}

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blakesmith/ar"
	"github.com/sassoftware/go-rpmutils"
)

// madeAt is the time of the tests' releases.
var madeAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// dir has what all tests of the package share; TestMain removes it.
var dir string

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "podstep-release-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// packed returns a release of version 0.9.0-rc.1 whose programs do nothing.
func packed(t *testing.T) *release {
	t.Helper()
	r, err := packOnce()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var packOnce = sync.OnceValues(func() (*release, error) { return packInto(filepath.Join(dir, "first"), time.Now()) })

// packInto makes a release out of a stage whose files are of the given time.
func packInto(at string, staged time.Time) (*release, error) {
	source, err := chartVersion("..")
	if err != nil {
		return nil, err
	}
	repo, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	r := &release{repo: repo, out: filepath.Join(at, "out"), stage: filepath.Join(at, "stage"), version: "0.9.0-rc.1", source: source, made: madeAt, targets: targets}
	program, err := programOnce()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"man/podstep.1": []byte(".TH podstep"), "man/podstep-why.1": []byte(".TH why")}
	for _, name := range completions {
		files["completions/"+name] = []byte("# " + name)
	}
	for _, t := range targets {
		files[t.String()+"/"+programName(t)] = program
	}
	for name, data := range files {
		path := filepath.Join(r.stage, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600), os.Chtimes(path, staged, staged))
		if err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return nil, err
	}
	return r, r.pack()
}

// programOnce builds a small program.
var programOnce = sync.OnceValues(func() ([]byte, error) {
	path := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./testdata/program")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	return os.ReadFile(path)
})

// TestFiles: the release has these files, and SHA256SUMS has the sums of all others.
func TestFiles(t *testing.T) {
	r := packed(t)
	want := strings.Fields(`
		SHA256SUMS krew.yaml podstep-0.9.0-rc.1.tgz podstep-0.9.0-rc.1.yaml podstep.nix podstep.rb
		podstep_0.9.0-rc.1_linux_amd64.apk podstep_0.9.0-rc.1_linux_amd64.deb podstep_0.9.0-rc.1_linux_amd64.rpm
		podstep_0.9.0-rc.1_linux_arm64.apk podstep_0.9.0-rc.1_linux_arm64.deb podstep_0.9.0-rc.1_linux_arm64.rpm podstep_0.9.0-rc.1_image.tar
		podstep_0.9.0-rc.1_darwin_amd64.tar.gz podstep_0.9.0-rc.1_darwin_arm64.tar.gz podstep_0.9.0-rc.1_linux_amd64.tar.gz podstep_0.9.0-rc.1_linux_arm64.tar.gz
		podstep_0.9.0-rc.1_windows_amd64.zip podstep_0.9.0-rc.1_windows_arm64.zip
		podstep_0.9.0-rc.1_darwin_amd64.cdx.json podstep_0.9.0-rc.1_darwin_arm64.cdx.json podstep_0.9.0-rc.1_linux_amd64.cdx.json
		podstep_0.9.0-rc.1_linux_arm64.cdx.json podstep_0.9.0-rc.1_windows_amd64.cdx.json podstep_0.9.0-rc.1_windows_arm64.cdx.json`)
	slices.Sort(want)
	files, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("there are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	sums := published(t, sumsFile)
	for _, name := range got {
		if name == sumsFile {
			continue
		}
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(sums, sum+"  "+name+"\n") {
			t.Errorf("%s has not the sum of %s", sumsFile, name)
		}
	}
}

// TestSameBytes: a release that is made elsewhere, of files of another time and mode, has the same bytes.
func TestSameBytes(t *testing.T) {
	first := packed(t)
	second, err := packInto(filepath.Join(t.TempDir(), "elsewhere"), time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(first.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		a, errA := os.ReadFile(filepath.Join(first.out, f.Name()))
		b, errB := os.ReadFile(filepath.Join(second.out, f.Name()))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v %v", f.Name(), errA, errB)
		}
	}
}

// published returns a file of the release.
func published(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(packed(t).out, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unpack returns the headers and files of a tar, and checks that all are of root and of the release's time.
func unpack(t *testing.T, data io.Reader) (map[string]*tar.Header, map[string]string) {
	t.Helper()
	heads, texts := map[string]*tar.Header{}, map[string]string{}
	for archive := tar.NewReader(data); ; {
		head, err := archive.Next()
		if err == io.EOF {
			return heads, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(head.Name, "./")
		heads[name], texts[name] = head, string(text)
		if !head.ModTime.Equal(madeAt) || head.Uid != 0 || head.Gid != 0 {
			t.Errorf("%s is of %v, of %d:%d", head.Name, head.ModTime, head.Uid, head.Gid)
		}
	}
}

func uncompressed(t *testing.T, data string) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkModes compares the files of an archive and their modes, such as -rwxr-xr-x, with the wanted ones. Directories count
// only if they are among the wanted.
func checkModes(t *testing.T, heads map[string]*tar.Header, want map[string]string) {
	t.Helper()
	for name, mode := range want {
		if head := heads[name]; head == nil {
			t.Errorf("%s is missing", name)
		} else if got := head.FileInfo().Mode().String(); got != mode {
			t.Errorf("%s has mode %s, want %s", name, got, mode)
		}
	}
	for name, head := range heads {
		if _, ok := want[name]; !ok && head.Typeflag != tar.TypeDir {
			t.Errorf("%s is there, too", name)
		}
	}
}

func TestArchive(t *testing.T) {
	heads, texts := unpack(t, uncompressed(t, published(t, "podstep_0.9.0-rc.1_linux_arm64.tar.gz")))
	const at = "podstep_0.9.0-rc.1_linux_arm64/"
	want := map[string]string{at + "podstep": "-rwxr-xr-x"}
	for _, name := range strings.Fields("LICENSE NOTICE README.md CHANGELOG.md podstep.service man/podstep.1 man/podstep-why.1 completions/podstep completions/podstep.fish completions/podstep.ps1 completions/_podstep") {
		want[at+name] = "-rw-r--r--"
	}
	checkModes(t, heads, want)
	if program, err := programOnce(); err != nil || texts[at+"podstep"] != string(program) {
		t.Errorf("podstep is another program, or %v", err)
	}

	zipped := published(t, "podstep_0.9.0-rc.1_windows_amd64.zip")
	archive, err := zip.NewReader(strings.NewReader(zipped), int64(len(zipped)))
	if err != nil {
		t.Fatal(err)
	}
	program, err := fs.Stat(archive, "podstep_0.9.0-rc.1_windows_amd64/podstep.exe")
	if err != nil || program.Mode().Perm() != 0o755 || !program.ModTime().Equal(madeAt) {
		t.Errorf("podstep.exe: %v, %v", program, err)
	}
}

// TestDeb: a Debian package has podstep's files in the places that Debian has for them, the unit is not enabled, and
// nothing is left to a purge but what the package's own scripts remove.
func TestDeb(t *testing.T) {
	members := map[string]string{}
	for archive := ar.NewReader(strings.NewReader(published(t, "podstep_0.9.0-rc.1_linux_amd64.deb"))); ; {
		head, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !head.ModTime.Equal(madeAt) {
			t.Errorf("%s is of %v", head.Name, head.ModTime)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		members[strings.TrimSuffix(head.Name, "/")] = string(text)
	}
	if members["debian-binary"] != "2.0\n" {
		t.Errorf("the format is %q", members["debian-binary"])
	}
	heads, texts := unpack(t, uncompressed(t, members["control.tar.gz"]))
	checkModes(t, heads, map[string]string{"control": "-rw-r--r--", "md5sums": "-rw-r--r--", "postinst": "-rwxr-xr-x", "prerm": "-rwxr-xr-x", "postrm": "-rwxr-xr-x"})
	for _, line := range []string{"Package: podstep", "Version: 0.9.0~rc.1", "Architecture: amd64", "Section: admin", "Homepage: " + homepage} {
		if !strings.Contains(texts["control"], line+"\n") {
			t.Errorf("control has no line %q:\n%s", line, texts["control"])
		}
	}
	if strings.Contains(texts["control"], "Depends:") {
		t.Errorf("a static program depends on something:\n%s", texts["control"])
	}

	heads, texts = unpack(t, uncompressed(t, members["data.tar.gz"]))
	want := map[string]string{"usr/bin/podstep": "-rwxr-xr-x", "usr/bin/kubectl-podstep": "Lrwxrwxrwx", "usr/share/man/man1/kubectl-podstep.1.gz": "Lrwxrwxrwx"}
	for _, name := range strings.Fields(`lib/systemd/system/podstep.service lib/systemd/system-preset/50-podstep.preset share/man/man1/podstep.1.gz share/man/man1/podstep-why.1.gz
		share/bash-completion/completions/podstep share/zsh/vendor-completions/_podstep share/fish/vendor_completions.d/podstep.fish
		share/doc/podstep/copyright share/doc/podstep/changelog.gz share/doc/podstep/CHANGELOG.md.gz share/doc/podstep/NOTICE share/doc/podstep/README.md share/doc/podstep/attach.md`) {
		want["usr/"+name] = "-rw-r--r--"
	}
	checkModes(t, heads, want)
	if to := heads["usr/bin/kubectl-podstep"].Linkname; to != "podstep" {
		t.Errorf("kubectl-podstep leads to %s", to)
	}
	unit := texts["usr/lib/systemd/system/podstep.service"]
	if !strings.Contains(unit, "\nExecStart=/usr/bin/podstep attach --no-tui") || strings.Contains(unit, "/usr/local") {
		t.Errorf("the unit does not run the package's podstep:\n%s", unit)
	}
}

// TestRpm: Fedora's package has the same, and owns its directories, which rpm would leave otherwise.
func TestRpm(t *testing.T) {
	head, err := rpmutils.ReadHeader(strings.NewReader(published(t, "podstep_0.9.0-rc.1_linux_arm64.rpm")))
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[int]string{
		rpmutils.NAME: "podstep", rpmutils.VERSION: "0.9.0~rc.1", rpmutils.ARCH: "aarch64", rpmutils.LICENSE: "Apache-2.0", rpmutils.BUILDHOST: "localhost",
	} {
		if got, err := head.GetString(tag); err != nil || got != want {
			t.Errorf("tag %d is %q, want %q: %v", tag, got, want, err)
		}
	}
	// Modes are as in stat(2): a directory is 04, a file 010, a link 012.
	want := map[string]int{"/usr/bin/podstep": 0o100755, "/usr/bin/kubectl-podstep": 0o120000, "/usr/share/doc/podstep": 0o40755, "/usr/share/licenses/podstep": 0o40755}
	for _, name := range strings.Fields(`lib/systemd/system/podstep.service lib/systemd/system-preset/50-podstep.preset share/man/man1/podstep.1.gz share/licenses/podstep/LICENSE
		share/zsh/site-functions/_podstep share/bash-completion/completions/podstep`) {
		want["/usr/"+name] = 0o100644
	}
	all, err := head.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if mode, ok := want[f.Name()]; ok && f.Mode() != mode {
			t.Errorf("%s has mode %o, want %o", f.Name(), f.Mode(), mode)
		}
		delete(want, f.Name())
		if f.UserName() != "root" || f.GroupName() != "root" || int64(f.Mtime()) != madeAt.Unix() {
			t.Errorf("%s is of %s:%s and of %d", f.Name(), f.UserName(), f.GroupName(), f.Mtime())
		}
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
}

// TestApk: Alpine's package has no unit, since Alpine has no systemd.
func TestApk(t *testing.T) {
	// An apk is tars that are compressed one after the other; only the last one has an end.
	data, err := io.ReadAll(uncompressed(t, published(t, "podstep_0.9.0-rc.1_linux_amd64.apk")))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var about []byte
	for archive := tar.NewReader(bytes.NewReader(data)); ; {
		head, err := archive.Next()
		if err != nil {
			break
		}
		names = append(names, head.Name)
		if head.Name == ".PKGINFO" {
			about, _ = io.ReadAll(archive)
		}
	}
	if !strings.Contains(string(about), "\npkgver = 0.9.0_rc1-r0\n") || !strings.Contains(string(about), "\narch = x86_64\n") {
		t.Errorf("the package says of itself:\n%s", about)
	}
	if !slices.Contains(names, ".PKGINFO") || !slices.Contains(names, "usr/bin/podstep") || !slices.Contains(names, "usr/share/licenses/podstep/LICENSE") {
		t.Errorf("there are %v", names)
	}
	for _, name := range names {
		if strings.Contains(name, "systemd") || strings.HasPrefix(name, ".p") {
			t.Errorf("%s is there", name)
		}
	}
}

// TestPackagedUnit: if the unit changes so that the packages would have a wrong one, the release fails.
func TestPackagedUnit(t *testing.T) {
	unit, err := os.ReadFile(filepath.Join("..", unitFile))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"ExecStart=/usr/local/bin/": "ExecStart=/opt/bin/", "# Copy it": "# Put it"} {
		if _, err := packagedUnit([]byte(strings.Replace(string(unit), from, to, 1))); err == nil {
			t.Errorf("%q in place of %q: no error", to, from)
		}
	}
}

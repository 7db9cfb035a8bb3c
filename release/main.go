// Command release makes the files of a release of podstep: archives, packages for Linux, an image, a chart, bills of
// material, and the manifests that name these files with their checksums. It reads the repository and the caches of the
// go command, and nothing else, so it needs no network once these are filled. The same commit and the same Go give the
// same bytes, wherever and whenever it runs. docs/release.md is for the people who make a release.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// downloads is where GitHub serves the files of a release, before "/vVERSION/FILE".
const downloads = "https://github.com/podstep/podstep/releases/download"

// homepage is podstep's page.
const homepage = "https://github.com/podstep/podstep"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	repo := flags.String("repo", "..", "the `DIR` of the repository")
	out := flags.String("out", "../dist", "the `DIR` for the files; what it had is removed")
	version := flags.String("version", os.Getenv("VERSION"), "the `VERSION`, such as 0.1.0 (default: $VERSION, the tag of the commit, or that of the chart in the repository)")
	deb := flags.Bool("deb", false, "make only a Debian package")
	arch := flags.String("arch", host.arch, "the `ARCH` of that package, as Go names it")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Makes the files of a release. $SOURCE_DATE_EPOCH is the time of all files in it (default: the commit's).")
		flags.PrintDefaults()
	}
	_ = flags.Parse(args) // it exits on an error
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: all is set by flags; see --help", flags.Arg(0))
	}
	r, err := newRelease(ctx, *repo, *out, *version)
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.stage)
	pack := r.pack
	if *deb {
		r.targets = []target{{"linux", *arch}}
		pack = func() error { return r.makePackage(r.targets[0], "deb") }
	}
	if err := r.build(ctx); err != nil {
		return err
	}
	if err := pack(); err != nil {
		return err
	}
	fmt.Printf("podstep %s is in %s\n", r.version, r.out)
	return nil
}

// release is what the files are made of.
type release struct {
	repo    string    // the root of the repository
	out     string    // the directory of the files to publish
	stage   string    // the directory of the programs and pages that were built; it is removed at the end
	version string    // such as 0.1.0 or 0.1.0-dev
	source  string    // the version that the chart has in the repository
	made    time.Time // the time of all files
	targets []target
}

// target is a system for which podstep is built.
type target struct{ os, arch string }

// targets are all of them. On those of another system than Linux podstep is a client alone.
var targets = []target{
	{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func (t target) String() string { return t.os + "_" + t.arch }

// versions are those of a release: those of semantic versioning that each kind of package has a form for.
var versions = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(dev|(alpha|beta|rc)\.[1-9]\d*))?$`)

// newRelease finds out the version and the time, and empties the directories.
func newRelease(ctx context.Context, repo, out, version string) (*release, error) {
	r := &release{targets: targets}
	var err error
	if r.repo, err = filepath.Abs(repo); err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, fmt.Errorf("find the directory for the files: %w", err)
	}
	if r.source, err = chartVersion(r.repo); err != nil {
		return nil, err
	}
	if r.version = strings.TrimPrefix(version, "v"); r.version == "" {
		r.version = tagged(ctx, r.repo)
	}
	if r.version == "" {
		r.version = r.source
	}
	if !versions.MatchString(r.version) {
		return nil, fmt.Errorf("the version %q is not one such as 0.1.0 or 0.1.0-rc.1", r.version)
	}
	if r.made, err = commitTime(ctx, r.repo); err != nil {
		return nil, err
	}
	if err := emptied(r.out); err != nil {
		return nil, err
	}
	if r.stage, err = os.MkdirTemp("", "podstep-release-"); err != nil {
		return nil, fmt.Errorf("make a directory to build in: %w", err)
	}
	return r, nil
}

// tagged returns the version of which the commit has the tag, or "".
func tagged(ctx context.Context, repo string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", repo, "describe", "--exact-match", "--match", "v*", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
}

// commitTime returns the time in $SOURCE_DATE_EPOCH, or the commit's.
func commitTime(ctx context.Context, repo string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "-C", repo, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("ask git for the commit's time: %w; outside of a clone set SOURCE_DATE_EPOCH", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// emptied makes an empty directory. It removes an old one only if a release is in it, or nothing but packages of podstep,
// as --deb makes them.
func emptied(dir string) error {
	old, err := os.ReadDir(dir)
	if err == nil && slices.ContainsFunc(old, isNoPackage) {
		if _, err := os.Stat(filepath.Join(dir, sumsFile)); err != nil {
			return fmt.Errorf("%s has other files than a release: name another directory with --out, or empty it", dir)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty the directory for the files: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory for the files: %w", err)
	}
	return nil
}

func isNoPackage(file os.DirEntry) bool {
	is, _ := filepath.Match("podstep_*.deb", file.Name())
	return !is || !file.Type().IsRegular()
}

// pack makes all files of what was built. The sums come last: they are of all others.
func (r *release) pack() error {
	for _, step := range []func() error{r.archives, r.packages, r.image, r.chart, r.bills, r.manifests, r.sums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// program returns the path of podstep for a target.
func (r *release) program(t target) string {
	return filepath.Join(r.stage, t.String(), programName(t))
}

func programName(t target) string {
	if t.os == "windows" {
		return "podstep.exe"
	}
	return "podstep"
}

// linux returns the targets that are Linux.
func (r *release) linux() (all []target) {
	for _, t := range r.targets {
		if t.os == "linux" {
			all = append(all, t)
		}
	}
	return all
}

// fileName returns the name of a file of the release: podstep_0.1.0_linux_amd64.tar.gz.
func (r *release) fileName(rest string) string { return "podstep_" + r.version + "_" + rest }

// create writes a file of the release.
func (r *release) create(name string, write func(*os.File) error) (err error) {
	f, err := os.OpenFile(filepath.Join(r.out, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = fmt.Errorf("make %s: %w", name, closed)
		}
	}()
	if err := write(f); err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}

// write writes a text as a file of the release.
func (r *release) write(name string, text []byte) error {
	return r.create(name, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
}

// read returns a file of the repository.
func (r *release) read(path string) ([]byte, error) {
	text, err := fs.ReadFile(os.DirFS(r.repo), path)
	if err != nil {
		return nil, fmt.Errorf("read the repository: %w", err)
	}
	return text, nil
}

// host is the system that the tool runs on.
var host = target{runtime.GOOS, runtime.GOARCH}

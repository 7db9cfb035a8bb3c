package weave

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/podstep/podstep/probes"
)

// ours is the weaver's own source: a change of it must rebuild what it wove.
//
//go:embed rewrite.go toolexec.go record.go misfit.go changed.go
var ours embed.FS

// sourceHash identifies the weaver.
func sourceHash() string {
	h := sha256.New()
	entries, err := ours.ReadDir(".")
	if err != nil {
		panic(err) // an embedded folder can be read
	}
	for _, e := range entries {
		b, err := ours.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Version identifies the weaver together with a whole catalogue.
func Version(c *probes.Catalogue) string {
	h := sha256.New()
	for _, p := range packages(c) {
		fmt.Fprintln(h, p, c.PackageHash(p))
	}
	return sourceHash() + "-" + hex.EncodeToString(h.Sum(nil)[:8])
}

func packages(c *probes.Catalogue) []string {
	var out []string
	for p := range c.Packages() {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// Command turns arguments of the go command (build, test, run, install ...) into those that weave: self is this
// program, which becomes the -toolexec.
//
// Each package of the catalogue gets a compiler flag of its own, Mark with a hash. The go command takes a package's
// flags into the identity of what it builds. So when the weaver or the catalogue changes, it rebuilds what is woven
// and what depends on it, and never anything else: the rest is shared with builds that do not weave. Since the last
// -gcflags that matches a package wins, those of the caller are repeated in ours.
//
// version is the version of Kubernetes to weave for. Empty: the catalogue's own, which the source has to fit.
func Command(c *probes.Catalogue, version, self string, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("which go command? e.g. podstep-weave go build -o podstep-kubelet ./cmd/podstep-kubelet")
	}
	for _, a := range args {
		if isFlag(a, "toolexec") {
			return nil, fmt.Errorf("a build has one -toolexec, and weaving needs it")
		}
	}
	out := []string{args[0], "-toolexec=" + quote(self) + " toolexec --marked"}
	rest, given := takeGcflags(args[1:])
	for _, g := range given {
		out = append(out, "-gcflags="+g)
	}
	if version != "" {
		c = c.In(version)
	}
	for _, p := range packages(c) {
		mark := Mark + "=" + sourceHash() + "-" + c.PackageHash(p)
		if version != "" {
			mark += "-" + hashOf(changed(c.Packages()[p], version)) + markVersion + version
		}
		flags := append(matching(given, p), mark)
		out = append(out, "-gcflags="+p+"="+strings.Join(flags, " "))
	}
	return append(out, rest...), nil
}

func quote(s string) string {
	if strings.ContainsAny(s, " \t") {
		return "'" + s + "'"
	}
	return s
}

func isFlag(arg, name string) bool {
	arg = strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	return arg == name || strings.HasPrefix(arg, name+"=")
}

// takeGcflags parts the caller's -gcflags from the other arguments.
func takeGcflags(args []string) (rest, given []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !strings.HasPrefix(a, "-") || !isFlag(a, "gcflags"):
			rest = append(rest, a)
		case strings.Contains(a, "="):
			_, v, _ := strings.Cut(a, "=")
			given = append(given, v)
		case i+1 < len(args):
			i++
			given = append(given, args[i])
		}
	}
	return rest, given
}

// matching returns the caller's flags for a package: those of the last
// -gcflags whose pattern matches it.
func matching(given []string, pkg string) (flags []string) {
	for _, g := range given {
		pattern, v, found := strings.Cut(g, "=")
		if !found || strings.HasPrefix(pattern, "-") {
			continue // for the packages named on the command line only
		}
		if pattern == "all" || patternMatches(pattern, pkg) {
			flags = strings.Fields(v)
		}
	}
	return flags
}

func patternMatches(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
	}
	ok, err := path.Match(pattern, pkg)
	return err == nil && ok
}

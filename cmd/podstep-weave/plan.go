package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// plan is what a build has to do: how much work there is in each package that
// is not in the build cache, and in linking each program. Work is in bytes of
// Go source, to which the compiler's time is about proportional.
type plan struct {
	compile map[string]int64
	link    map[string]int64
}

const (
	// perPackage is the work of even an empty package: processes start, and files are read and written.
	perPackage = 20_000
	// linkShare is the work of linking a program, as a part of the work of compiling all its packages.
	linkShare = 0.03
)

// goPackage is what `go list -json` prints of a package.
type goPackage struct {
	ImportPath, Name, Dir string
	GoFiles, CgoFiles     []string
	Stale                 bool // not in the build cache as this build needs it
}

// askPlan asks the go command for the plan. args are those of its build, with flags.
func askPlan(ctx context.Context, args []string) (*plan, error) {
	list := append([]string{"list", "-deps", "-json=ImportPath,Name,Dir,GoFiles,CgoFiles,Stale"}, withoutOutput(args[1:])...)
	out, err := exec.CommandContext(ctx, "go", list...).Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	return readPlan(bytes.NewReader(out), sourceBytes)
}

// outputs are flags of go build that name a file to write.
var outputs = []string{"-o", "-debug-actiongraph", "-debug-trace"}

// withoutOutput removes the flags with which go list would write files, or which it does not know.
func withoutOutput(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		name, _, hasValue := strings.Cut(args[i], "=")
		if strings.HasPrefix(name, "--") {
			name = name[1:]
		}
		switch {
		case !slices.Contains(outputs, name):
			out = append(out, args[i])
		case !hasValue:
			i++
		}
	}
	return out
}

// readPlan reads the go command's list. source gives the bytes of a package's
// source.
func readPlan(list io.Reader, source func(goPackage) int64) (*plan, error) {
	p := &plan{compile: map[string]int64{}, link: map[string]int64{}}
	var programs []string
	var all int64
	for d := json.NewDecoder(list); ; {
		var pkg goPackage
		if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read list of packages: %w", err)
		}
		if pkg.ImportPath == "unsafe" {
			continue // it has no code
		}
		work := source(pkg) + perPackage
		all += work
		if pkg.Stale {
			p.compile[pkg.ImportPath] = work
		}
		if pkg.Stale && pkg.Name == "main" {
			programs = append(programs, pkg.ImportPath)
		}
	}
	for _, path := range programs {
		p.link[path] = int64(linkShare * float64(all))
	}
	return p, nil
}

func sourceBytes(pkg goPackage) (sum int64) {
	for _, files := range [][]string{pkg.GoFiles, pkg.CgoFiles} {
		for _, name := range files {
			if info, err := os.Stat(filepath.Join(pkg.Dir, name)); err == nil {
				sum += info.Size()
			}
		}
	}
	return sum
}

// Command gen makes files of this repository from others. It runs in the root:
//
//	go run ./cmd/gen [-kubelet DIR] [NAME]
//
// The table of generators says what is made from what. Without a name all of it is made.
//
// Not made here are the protocol (scripts/generate-proto.sh), the eBPF program
// (go generate ./probes/uprobe), the help of the commands in docs/cli
// (go generate ./cmd/podstep), docs/holds.md (go test ./agent -run TestCallers -update),
// the tables of probes/memory for kubelets of other versions (scripts/memory.sh),
// agent/explain/causes/table/minors.txt (go test ./stuck -run TestMinors -update, in lab),
// and the pictures of the screen (make pictures).
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/podstep/podstep/cmd/gen/kubelet"
	"github.com/podstep/podstep/cmd/gen/memory"
	"github.com/podstep/podstep/cmd/gen/source"
	"github.com/podstep/podstep/cmd/gen/walkthroughs"
	"github.com/podstep/podstep/tui"
)

// generators are in the order in which they run: some are compiled with the output of those
// before them. Paths are from the root of the repository.
var generators = []generator{
	{"sums", "probes/catalogue/functions.sum", "the kubelet's source", source.WriteSums},
	{"source", "probes/source/excerpts.json.gz", "the kubelet's source", source.WriteExcerpts},
	{"memory", "probes/memory", "the kubelet's types and the expressions in probes/catalogue", memory.Write},
	{"steps", "docs/steps.md", "probes/catalogue and probes/memory", page(writeSteps)},
	{"minors", "docs/minors.md", "probes/catalogue and probes/memory", page(writeMinors)},
	{"versions", "docs/versions.md", "agent/labtest/tried.tsv", page(writeTried)},
	{"inside", "docs/inside.md", "probes/uprobe/seen and probes/memory", page(writeInside)},
	{"log", "docs/log.md", "probes/catalogue", page(writeLog)},
	{"causes", "docs/causes.md", "agent/explain/causes/table and the snapshots beside it", page(writeCauses)},
	{"keys", "docs/keys.md", "the actions of tui", page(writeKeys)},
	{"walkthroughs", "docs/walkthroughs", "docs/tours", writeWalkthroughs},
}

type generator struct {
	name, to, from string
	// write writes a file or the files of a directory. It gets the directory of the module
	// whose kubelet it reads, if it reads one.
	write func(to, module string) error
}

// page returns the write of a page that a function writes.
func page(f func(io.Writer) error) func(to, module string) error {
	return func(to, _ string) error {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			return err
		}
		return os.WriteFile(to, b.Bytes(), 0o644)
	}
}

func writeKeys(w io.Writer) error {
	_, err := w.Write(tui.KeysDoc())
	return err
}

func writeWalkthroughs(to, _ string) error { return walkthroughs.Write(to) }

func main() {
	module := flag.String("kubelet", kubelet.Module, "the `directory` of the module whose kubelet is read")
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() > 1 {
		usage()
		os.Exit(2)
	}
	run := makeAll
	if flag.NArg() == 1 {
		run = func(module string) error { return makeOne(flag.Arg(0), module) }
	}
	if err := run(*module); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: go run ./cmd/gen [-kubelet DIR] [NAME], in the root of the repository")
	flag.PrintDefaults()
	fmt.Fprintln(os.Stderr, "NAME is one of these; without one all are made:")
	for _, g := range generators {
		fmt.Fprintf(os.Stderr, "  %-13s %s, from %s\n", g.name, g.to, g.from)
	}
}

func makeOne(name, module string) error {
	for _, g := range generators {
		if g.name != name {
			continue
		}
		if err := g.write(g.to, module); err != nil {
			return fmt.Errorf("make %s: %w", g.to, err)
		}
		return nil
	}
	return fmt.Errorf("there is no generator %q; go run ./cmd/gen -h lists them", name)
}

// makeAll builds and runs this program anew for each generator, since the output of one is
// compiled into the next.
func makeAll(module string) error {
	for _, g := range generators {
		fmt.Println(g.to)
		cmd := exec.Command("go", "run", "./cmd/gen", "-kubelet", module, g.name)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("run generator %s: %w", g.name, err)
		}
	}
	return nil
}

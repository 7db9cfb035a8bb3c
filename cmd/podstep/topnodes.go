package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/story/spread"
)

// nodesTop is what top has counted on several nodes.
type nodesTop struct {
	printer *topPrinter
	flags   *topFlags
	levels  []string

	mu      sync.Mutex
	nodes   map[string]*nodeTop
	printed time.Time
}

// nodeTop is what top has counted on one of them.
type nodeTop struct {
	of    string // of which pods
	data  *topJSON
	rows  []spread.Row
	cells [][]string // of each row
	gaps  int
}

// topOfNodes counts the calls on several nodes, and prints them in one table, the worst first.
func (a *app) topOfNodes(ctx context.Context, like *topper, p *topPrinter) error {
	if p.flags.save != "" || p.against != nil {
		return usagef("--save and --against are about one node; choose it with --node NAME")
	}
	n := &nodesTop{printer: p, flags: p.flags, levels: p.levels(), nodes: map[string]*nodeTop{}}
	err := a.onEach(ctx, false, func(ctx context.Context, name string, c *client.Client) error {
		t := &topper{catalogue: like.catalogue, pods: like.pods, globs: like.globs, filter: like.filter}
		defer func() {
			if t.h != nil {
				n.put(name, t)
			}
		}()
		if p.flags.logs.timed() {
			logs := p.flags.logs
			logs.past.from, logs.past.node = recordOf(ctx, c)
			return a.unlessNothing(a.topOfRecording(ctx, t, &logs, logs.past.from.String())) // the other nodes may have something
		}
		return t.countAgent(ctx, c.Reader(), p.flags, func(t *topper) error {
			n.put(name, t)
			return n.again()
		})
	})
	if len(n.nodes) == 0 {
		return err
	}
	return errors.Join(n.print(), err)
}

// put takes what is counted on a node up to now. Only the goroutine of the node reads its topper.
func (n *nodesTop) put(name string, t *topper) {
	rows := t.rows(spread.Order(n.flags.sort.value))
	one := &nodeTop{of: t.pods.Written(), data: newTopJSON(t, rows), rows: rows, gaps: t.gaps}
	one.data.Node = name
	for i := range rows {
		one.cells = append(one.cells, topCells(t, &rows[i], n.flags.out.wide(), n.levels))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[name] = one
}

// again prints the present table, if the person wants it again and again, once for all nodes.
func (n *nodesTop) again() error {
	if !n.flags.watch {
		return nil
	}
	n.mu.Lock()
	due := time.Since(n.printed) >= topEvery
	if due {
		n.printed = time.Now()
	}
	n.mu.Unlock()
	if !due {
		return nil
	}
	return n.print()
}

func (n *nodesTop) print() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.printer.show(n.printTo)
}

// nodesTopJSON is what top counts on several nodes, as scripts get it.
type nodesTopJSON struct {
	Nodes []*topJSON `json:"nodes"`
}

func (n *nodesTop) printTo(w io.Writer) error {
	names := sortedKeys(n.nodes)
	data := &nodesTopJSON{}
	for _, name := range names {
		data.Nodes = append(data.Nodes, n.nodes[name].data)
	}
	return n.flags.out.print(w, data, func(w io.Writer) { n.text(w, names) })
}

func (n *nodesTop) text(w io.Writer, names []string) {
	type line struct {
		row   *spread.Row
		cells []string
	}
	var lines []line
	calls := 0
	for _, name := range names {
		one := n.nodes[name]
		for i := range one.rows {
			calls += one.rows[i].Calls
			lines = append(lines, line{&one.rows[i], append([]string{name}, one.cells[i]...)})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(spread.Order(n.flags.sort.value).Compare(a.row, b.row), cmp.Compare(a.cells[1], b.cells[1]))
	})
	fmt.Fprintf(w, "%s of %d nodes: %d calls\n", aboutTop(n.nodes[names[0]].of, "", ""), len(names), calls)
	for _, name := range names {
		if gaps := n.nodes[name].gaps; gaps > 0 {
			fmt.Fprintf(w, "%s: events were lost, %d times: there were more calls than are counted\n", name, gaps)
		}
	}
	var cells [][]string
	for _, l := range lines {
		cells = append(cells, l.cells)
	}
	if len(cells) > 0 {
		table(w, append([]string{"NODE"}, topHeader(n.flags.out.wide())...), cells)
	}
}

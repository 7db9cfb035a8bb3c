package causes

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/podstep/podstep/probes"
)

//go:embed table
var files embed.FS

// stages are the files of the table, in the order of a pod's way.
var stages = []string{
	"controllers", "scheduling", "node", "source", "admission", "sandbox", "volumes", "image", "start", "init", "ready", "terminating", "general",
}

// table is read once. It is a part of the program: one that cannot be read is an
// error of whoever changed it, which every test of the package finds.
var table = sync.OnceValue(func() []*Cause {
	out, err := read(files)
	if err != nil {
		panic(err.Error())
	}
	return out
})

// byID are the causes of the table.
var byID = sync.OnceValue(func() map[string]*Cause {
	out := map[string]*Cause{}
	for _, c := range table() {
		out[c.ID] = c
	}
	return out
})

// All are the causes of the table, in the order of a pod's way.
func All() []*Cause { return table() }

// Named is the cause of an id, or nil.
func Named(id string) *Cause { return byID()[id] }

func read(from fs.FS) (out []*Cause, err error) {
	known := map[string]bool{}
	for _, stage := range stages {
		var in []*Cause
		name := path.Join("table", stage+".yaml")
		if err := probes.ReadYAML(from, name, &in); err != nil {
			return nil, fmt.Errorf("read causes: %w", err)
		}
		for _, c := range in {
			switch {
			case c.ID == "" || known[c.ID]:
				return nil, fmt.Errorf("read %s: the id %q is empty or taken", name, c.ID)
			case c.Holds != "" && c.Holds != holdsSandbox:
				return nil, fmt.Errorf("read %s: %s: %q is nothing that can be held up", name, c.ID, c.Holds)
			case c.Rank < 0 || c.Rank > 9:
				return nil, fmt.Errorf("read %s: %s: rank %d is not from 1 to 9", name, c.ID, c.Rank)
			}
			if c.Rank == 0 {
				c.Rank = 5
			}
			known[c.ID], c.stage, c.place = true, stage, len(out)
			for i := range c.When {
				if err := c.When[i].compile(); err != nil {
					return nil, fmt.Errorf("read %s: %s: %w", name, c.ID, err)
				}
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// isAfter reports whether a cause is a consequence of another.
func (c *Cause) isAfter(id string) bool {
	for _, a := range c.After {
		if prefix, glob := strings.CutSuffix(a, "*"); a == id || glob && strings.HasPrefix(id, prefix) {
			return id != c.ID
		}
	}
	return false
}

package causes

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/podstep/podstep/probes"
)

// Cause is one way in which a pod is stuck: an entry of the table. In its texts
// {name} stands for an argument, which a match or a check gives.
type Cause struct {
	// ID stays from version to version, such as image.notFound.
	ID string `yaml:"id"`
	// Title is the cause in a few words, Text in one sentence.
	Title probes.Text `yaml:"title"`
	Text  probes.Text `yaml:"text"`
	// Silent causes are named neither by an event nor by a waiting reason of the API server.
	Silent bool `yaml:"silent"`
	// Where is the place in the kubelet's code, or the object, that the cause is about.
	Where string `yaml:"where"`
	// Refute is what would show that it is not so.
	Refute probes.Text `yaml:"refute"`
	// Clock is which timer runs: a back-off, a deadline, a period.
	Clock probes.Text `yaml:"clock"`
	// Chain is what waits for what, from the pod to the cause.
	Chain probes.Text `yaml:"chain"`
	// Shows is what kubectl shows of it, where that says less or something else.
	Shows probes.Text `yaml:"shows"`
	// Next are what to do, the first thing first.
	Next []Advice `yaml:"next"`
	// After are ids of causes. This cause is a consequence of each of them that is found, too.
	// A star at the end of an id stands for all that begin so.
	After []string `yaml:"after"`
	// Follows marks a cause that is only a consequence: it is left out where none of After is found.
	Follows bool `yaml:"follows"`
	// Rank is how close to the root of the trouble the cause is, from 1 to 9; most are
	// 5. Of two that are equally sure, the higher comes first.
	Rank int `yaml:"rank"`
	// Culprit is what keeps the pod, if that is not the pod itself: the first of these whose arguments are known.
	Culprit []CulpritName `yaml:"culprit"`
	// Tour is the guided walk that explains this part of the pipeline.
	Tour string `yaml:"tour"`
	// In are the phases of a pod in which the cause is looked for; none: all.
	In []Phase `yaml:"in"`
	// Holds is the part of the pod that the cause holds up: sandbox, or empty. Once that part
	// is there, the cause is over, however fresh its events are.
	Holds string `yaml:"holds"`
	// Fine marks a cause of which alone nothing is wrong: it passes by itself, or somebody wants it so.
	Fine bool `yaml:"fine"`
	// Young is how long a pod may be in its phase before the cause counts.
	Young time.Duration `yaml:"young"`
	// When are the matches by which the cause is recognised: any of them. A cause that a check
	// finds has none.
	When []Match `yaml:"when"`

	stage string // the file's name
	place int    // in the table
}

// Stage is the chapter of a cause: the name of its file in the table.
func (c *Cause) Stage() string { return c.stage }

// Advice is one thing to do: a command that can be pasted, with what it is for, or a text alone
// where there is no command.
type Advice struct {
	Text probes.Text `yaml:"text"`
	Run  string      `yaml:"run"`
}

//go:embed table
var files embed.FS

// stages are the files of the table, in the order of a pod's way.
var stages = []string{
	"podstep", "controllers", "scheduling", "node", "source", "admission", "sandbox", "volumes", "image", "start", "init", "ready", "terminating", "objects", "general",
}

// loaded is the table. It has no initial value, since the functions that read the table lead back to it.
var loaded struct {
	once sync.Once
	all  []*Cause
	byID map[string]*Cause
}

// load reads the table once. The table is a part of the program: if it cannot be read, every
// test of the package fails.
func load() {
	all, err := read(files)
	if err != nil {
		panic(err.Error())
	}
	loaded.all, loaded.byID = all, map[string]*Cause{}
	where, err := readWhereabouts(files)
	if err != nil {
		panic(err.Error())
	}
	for _, c := range append(where, all...) {
		loaded.byID[c.ID] = c
	}
}

// All returns the causes of the table, in the order of a pod's way.
func All() []*Cause {
	loaded.once.Do(load)
	return loaded.all
}

// Named returns the cause of an id, or the entry of the table of whereabouts; nil: there is none.
func Named(id string) *Cause {
	loaded.once.Do(load)
	return loaded.byID[id]
}

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
			for i := range c.Culprit {
				if err := c.Culprit[i].check(); err != nil {
					return nil, fmt.Errorf("read %s: %s: %w", name, c.ID, err)
				}
			}
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

// readWhereabouts reads where a pod can be: entries that have texts, and nothing by which they are recognised.
func readWhereabouts(from fs.FS) (out []*Cause, err error) {
	if err := probes.ReadYAML(from, "table/where.yaml", &out); err != nil {
		return nil, fmt.Errorf("read whereabouts: %w", err)
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

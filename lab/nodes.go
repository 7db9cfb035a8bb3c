package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/podstep/podstep/agent/labstate"
)

// nodeName is the name of the lab's first node.
const nodeName = "node-1"

// maxNodes bounds the nodes of a lab. Each has a kubelet and a runtime of its own, in some 200 MB.
const maxNodes = 20

// A labNode is one node of the lab.
type labNode struct {
	name  string
	paths paths
}

// nodesIn returns the nodes of a lab, the first one first.
func nodesIn(p paths, count int) []labNode {
	nodes := []labNode{{nodeName, p}}
	for n := 2; n <= count; n++ {
		name := fmt.Sprintf("node-%d", n)
		nodes = append(nodes, labNode{name, paths{dir: p.dir, of: name}})
	}
	return nodes
}

// part returns the name of the node's kubelet or runtime among the parts of the lab.
func (n labNode) part(kind string) string {
	if n.paths.of == "" {
		return kind
	}
	return kind + "-" + n.paths.of
}

// kindOf returns what a part is, which is the same on each node.
func kindOf(part string) string {
	kind, _, _ := strings.Cut(part, "-node-")
	return kind
}

// makeDirs makes the directories of the node that must be there before its parts start.
func (n labNode) makeDirs() error {
	if err := fits(filepath.Join(n.paths.dir, n.paths.of)); err != nil {
		return err
	}
	for _, dir := range []string{n.paths.logs(), n.paths.manifests(), n.paths.config(""), n.paths.node("home"), n.paths.node("tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create directory: %w", err)
		}
	}
	return nil
}

// nodeStates describes the nodes for state.json.
func (l *Lab) nodeStates() (out []labstate.Node) {
	for _, n := range l.nodes {
		out = append(out, labstate.Node{Name: n.name, Agent: n.paths.agent()})
	}
	return out
}

// outlives reports whether the lab goes on without a part: if there are other nodes, the loss of one is what a person
// wants to see, and so is that of a driver. Until all nodes are ready it is a failed start.
func (l *Lab) outlives(p *process) bool {
	switch kindOf(p.name) {
	case "kubelet", "simcri":
		return l.up && len(l.nodes) > 1
	case devicesPart, storagePart, pluginPart:
		return l.up
	}
	return false
}

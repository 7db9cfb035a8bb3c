package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// names are the names of what a lab makes outside of its directory. They follow from the directory. So two labs never
// meet, and a lab that was killed can be cleaned up if only its directory is known.
type names struct {
	hash   string
	cgroup string // holds every process of the lab and of its pods
	bridge string // the pods' network; at most 15 bytes
}

func namesOf(dir string) names {
	sum := sha256.Sum256([]byte(dir))
	hash := hex.EncodeToString(sum[:4])
	return names{hash: hash, cgroup: "/podstep-" + hash, bridge: "pstep" + hash}
}

// partsCgroup returns the cgroup of the lab's own parts. The pods' cgroups are beside it.
func (n names) partsCgroup() string { return n.cgroup + "/lab" }

// paths are the places below the lab's directory. Those of the first node are in the directory itself, and those of
// another node in one of its own, of is its name.
type paths struct {
	dir string
	of  string
}

func (p paths) at(elem ...string) string {
	return filepath.Join(append([]string{p.dir}, elem...)...)
}

// own returns a place of the node.
func (p paths) own(elem ...string) string {
	return p.at(append([]string{p.of}, elem...)...)
}

func (p paths) lock() string       { return p.at("lab.lock") }
func (p paths) kubeconfig() string { return p.at("kubeconfig") }
func (p paths) logs() string       { return p.at("logs") }
func (p paths) log(part string) string {
	return p.at("logs", part+".log")
}
func (p paths) podLogs() string            { return p.at("logs", p.of, "pods") }
func (p paths) containerLogs() string      { return p.at("logs", p.of, "containers") }
func (p paths) manifests() string          { return p.own("manifests") }
func (p paths) pki(file string) string     { return p.at("pki", file) }
func (p paths) config(elem string) string  { return p.own("config", elem) }
func (p paths) containerd() string         { return p.at("containerd") }
func (p paths) containerdSocket() string   { return p.at("containerd", "containerd.sock") }
func (p paths) simSocket() string          { return p.own("simcri", "simcri.sock") }
func (p paths) pressure() string           { return p.own("pressure") }
func (p paths) kubelet() string            { return p.own("kubelet") }
func (p paths) cwd(part string) string     { return p.node("cwd", part) }
func (p paths) node(elem ...string) string { return p.own(append([]string{"node"}, elem...)...) }

// agent returns the socket of the node's agent. All sockets are in one directory, since podstep looks for the kubeconfig
// beside the socket.
func (p paths) agent() string {
	if p.of == "" {
		return p.at("agent.sock")
	}
	return p.at("agent-" + p.of + ".sock")
}

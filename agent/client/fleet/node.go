// Package fleet reaches the agents of many nodes at once, and each node over a connection of its own. A node that hangs,
// floods, refuses, or ends delays no other: it has a state with a reason in place of its pods. Ask asks all nodes one
// thing; a Fleet follows them.
//
// It only looks. A person acts on a pod through a connection to the pod's own node.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/client"
)

// Node is a way to the agent of one node.
type Node struct {
	// Name is what a person calls the node. Empty: the name that the agent has for its node.
	Name string
	// Place is where its agent is.
	Place client.Place
}

// Dial connects to the agent. It returns when the agent has answered. Its errors are sentences, as those of package
// client.
func (n *Node) Dial(ctx context.Context) (*client.Client, error) { return client.Reach(ctx, n.Place) }

// DialWithin is Dial for an agent that has to answer within a time; otherwise it is silent.
func (n *Node) DialWithin(ctx context.Context, within time.Duration) (c *client.Client, err error) {
	err = n.limit(ctx, within, func(ctx context.Context) (err error) {
		c, err = n.Dial(ctx)
		return err
	})
	return c, err
}

// Socket returns the node whose agent listens at a unix socket.
func Socket(name, path string) Node {
	return Node{Name: name, Place: client.At(path)}
}

// ParseSocket reads a node from a text [NAME=]PATH. A path with a "=" in the name of its first directory takes a "./"
// before it.
func ParseSocket(text string) (Node, error) {
	name, path, named := strings.Cut(text, "=")
	if !named || strings.Contains(name, "/") {
		name, path = "", text
	}
	switch {
	case named && name == "" && path != text:
		return Node{}, fmt.Errorf("%q has no name before the =; write NAME=PATH, or the PATH alone", text)
	case path == "":
		return Node{}, errors.New("the path is empty; write [NAME=]PATH")
	}
	return Socket(name, path), nil
}

// Called returns the name of a node in messages as long as its agent has not answered.
func (n *Node) Called() string {
	if n.Name != "" {
		return n.Name
	}
	return strings.TrimSuffix(filepath.Base(n.Place.String()), ".sock")
}

// NameOf returns the name of a node whose agent has answered, and has a name for its node or none.
func (n *Node) NameOf(agent string) string {
	switch {
	case n.Name != "":
		return n.Name
	case agent != "":
		return agent
	}
	return n.Called()
}

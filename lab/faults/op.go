package faults

import (
	"fmt"
	"time"
)

// Side is whom the kubelet calls.
type Side string

// The sides.
const (
	CRI    Side = "cri"    // the container runtime
	API    Side = "api"    // the API server
	Plugin Side = "plugin" // a plugin of the kubelet: a CSI or a DRA driver, or a device plugin
	Exec   Side = "exec"   // a program that the kubelet runs: its credential plugin
	File   Side = "file"   // the files of the node
)

// Call is a kind of call about a pod.
type Call struct {
	Side Side `json:"side"`
	// Method is a method of the CRI, the CSI or the interface of DRA drivers or device plugins, such as StartContainer, or verb and resource of a request, such as
	// "patch pods/status", or what is done with a file, such as mkdir.
	Method string `json:"method"`
	// Object is the container, the image's container, the object or the path that the call is about; empty: it is about the pod
	// as a whole.
	Object string `json:"object,omitempty"`
}

func (c Call) String() string {
	text := string(c.Side) + " " + c.Method
	if c.Object != "" {
		text += " " + c.Object
	}
	return text
}

// Op is the n-th call of its kind, from 1.
type Op struct {
	Call
	N int `json:"n"`
}

func (o Op) String() string { return fmt.Sprintf("%s #%d", o.Call, o.N) }

// Action is what happens to a call.
type Action string

// The actions on all sides.
const (
	Hang  Action = "hang"  // there is no answer until the caller gives up or the rule is lifted
	Late  Action = "late"  // the call is passed on after LateBy
	Empty Action = "empty" // the call is not passed on; the answer is a success without content
	Lost  Action = "lost"  // the call is passed on and carried out, and its answer gets lost
)

// The actions on calls to the runtime and to plugins; a code of gRPC is the name of one, too.
const (
	Unknown           Action = "Unknown"
	DeadlineExceeded  Action = "DeadlineExceeded"
	Unavailable       Action = "Unavailable"
	NotFound          Action = "NotFound"
	ResourceExhausted Action = "ResourceExhausted"
	Wrong             Action = "wrong" // the answer contradicts what the runtime did
)

// The actions on requests to the API server; a status of HTTP is the name of one.
const (
	Forbidden       Action = "403"
	Missing         Action = "404"
	Conflict        Action = "409"
	TooManyRequests Action = "429"
	InternalError   Action = "500"
	Cut             Action = "cut" // the connection ends without an answer
)

// The actions on programs; Wrong is one, too.
const (
	Exit     Action = "exit"     // it ends with an error
	Nonsense Action = "nonsense" // it ends well, and prints what means nothing
)

// The actions on file operations.
const (
	IOError  Action = "EIO"
	NoSpace  Action = "ENOSPC"
	ReadOnly Action = "EROFS"
	NoAccess Action = "EACCES"
)

// Actions returns the actions on a side, those that make the plainest faults first.
func Actions(s Side) []Action {
	switch s {
	case File:
		return []Action{IOError, Hang, NoSpace, ReadOnly, NoAccess}
	case Exec:
		return []Action{Exit, Hang, Nonsense, Empty, Wrong, Late}
	case API:
		return []Action{InternalError, Hang, Forbidden, Missing, Lost, Conflict, TooManyRequests, Cut, Empty, Late}
	}
	return []Action{Unknown, Hang, Unavailable, Lost, Wrong, Empty, DeadlineExceeded, NotFound, ResourceExhausted, Late}
}

// LateBy is how much later a late call is passed on.
const LateBy = 8 * time.Second

// Rule breaks calls of one kind about one pod.
type Rule struct {
	Call Call
	// From is the number of the first call that is broken, from 1.
	From int
	// Always breaks all later ones of its kind, too.
	Always bool
	Action Action
	// Text is in the message of each error that the rule makes.
	Text string
}

// breaks reports whether the rule breaks the n-th call of a kind.
func (r *Rule) breaks(c Call, n int) bool {
	return c == r.Call && (n == r.From || r.Always && n > r.From)
}

package agentpb

import "path"

// The ServiceAccounts by whose tokens clients of other machines show what they may do, and the audience of these tokens.
const (
	AccountLook = "podstep-look"
	AccountHold = "podstep-hold"
	Audience    = "podstep"
)

// Rights are what a client may do, the least first. Each right has those before it.
var Rights = []string{"nothing", "look", "hold"}

// The metadata of a request by a client of another machine: "Bearer TOKEN", and the name that the client gives.
const (
	TokenKey = "authorization"
	UserKey  = "podstep-user-bin" // a name need not be in ASCII
)

// looking are the requests that change nothing: neither a pod, nor what the agent does to one. Look is not among them: the
// kubelet stands still for it.
var looking = map[string]bool{
	"Info": true, "Watch": true, "WatchClosely": true, "Pods": true, "Stats": true, "ListBreakpoints": true, "ListHolds": true,
	"Segments": true, "ReadSegment": true,
}

// OnlyLooks reports whether a method of the protocol changes nothing.
func OnlyLooks(method string) bool { return looking[path.Base(method)] }

// AccountFor returns the ServiceAccount whose token a method of the protocol takes.
func AccountFor(method string) string {
	if OnlyLooks(method) {
		return AccountLook
	}
	return AccountHold
}

// Same reports whether two peers are the same client. Each request of a client may come with another token.
func (p *Peer) Same(q *Peer) bool {
	return p != nil && q != nil && p.Uid == q.Uid && p.Pid == q.Pid && p.User == q.User
}

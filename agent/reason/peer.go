package reason

import (
	"path"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Peer names a client: the account of its token, or else its process. A name that it only claims is shown as such.
func Peer(p *agentpb.Peer) probes.Text {
	who := words.Same(words.OneLine(path.Base(p.GetAccount())))
	if p.GetAccount() == "" {
		who = words.With(text("process %d of user %d", "用户 %[2]d 的进程 %[1]d"), p.GetPid(), p.GetUid())
	}
	if user := words.OneLine(p.GetUser()); user != "" {
		return words.With(text("%s (who says to be %s)", "%s（自称 %s）"), who, user)
	}
	return who
}

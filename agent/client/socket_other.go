//go:build !unix

package client

// checkSocket always returns an error: this system does not tell whose process listens at a socket.
func checkSocket(string, user) error {
	return newError(NoAgent, nil, text("podstep reaches no agent from here: this system does not tell whose process listens at a socket; run podstep on the node, or name the node with --node or --ssh", "podstep 无法从这里访问代理：本系统不告知在套接字上监听的是谁的进程；请在节点上运行 podstep，或用 --node 或 --ssh 指定节点"))
}

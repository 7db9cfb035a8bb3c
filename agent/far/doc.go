// Package far reaches agents on other machines. An agent listens at a unix socket of its node alone; podstep agent-stdio
// joins that socket with its standard input and output, and this package starts it there: by an exec in a pod of podstep
// (Cluster, OnNode, InPod) or by the user's own ssh (BySSH). The agent sees the process of agent-stdio as its client.
package far

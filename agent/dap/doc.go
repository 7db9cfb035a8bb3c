// Package dap is a debug adapter: an editor that speaks the Debug Adapter Protocol debugs single pods through it, while
// the node lives on. Serve speaks with one editor. It attaches to an agent, or replays a recording.
//
// A thread is a pod, and its frames are the steps that are under way for it. Continue and step move one pod only,
// whatever the editor sends. All that a session holds and arms ends with its connection to the agent.
package dap

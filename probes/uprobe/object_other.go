//go:build !amd64 && !arm64

package uprobe

// object is empty: no kubelet of another architecture is looked into.
var object []byte

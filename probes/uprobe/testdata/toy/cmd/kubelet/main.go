// Command kubelet is a program with the import paths of the kubelet, for tests. It does what
// each line of its input names, and prints the line when it has done that.
package main

import (
	"bufio"
	"fmt"
	"os"

	"k8s.io/kubernetes/pkg/kubelet"
)

func main() {
	kl := kubelet.New()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		kl.Do(lines.Text())
		fmt.Println(lines.Text())
	}
}

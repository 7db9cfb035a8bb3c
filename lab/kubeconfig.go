package lab

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig that includes its certificates, so that it can be copied elsewhere.
func writeKubeconfig(p paths, file, user string, port int) error {
	var pems [3][]byte
	for i, name := range []string{"ca.crt", user + ".crt", user + ".key"} {
		var err error
		if pems[i], err = os.ReadFile(p.pki(name)); err != nil {
			return fmt.Errorf("write kubeconfig: %w", err)
		}
	}
	config := api.NewConfig()
	config.Clusters["podstep-lab"] = &api.Cluster{Server: fmt.Sprintf("https://127.0.0.1:%d", port), CertificateAuthorityData: pems[0]}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: pems[1], ClientKeyData: pems[2]}
	config.Contexts["podstep-lab"] = &api.Context{Cluster: "podstep-lab", AuthInfo: user}
	config.CurrentContext = "podstep-lab"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

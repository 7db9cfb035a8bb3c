package lab

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// waitNode returns when a pod that is created now can run: the node is Ready and the scheduler may use the node.
func (l *Lab) waitNode(ctx context.Context, name string) error {
	return poll(ctx, func(ctx context.Context) error {
		node, err := l.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get node: %w", err)
		}
		return usable(node)
	})
}

func usable(node *corev1.Node) error {
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status != corev1.ConditionTrue {
			return fmt.Errorf("node is not ready: %s", c.Message)
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node has taint %s", node.Spec.Taints[0].Key)
		}
		return nil
	}
	return fmt.Errorf("node does not say whether it is ready")
}

// waitNamespace returns when the controller manager has made the objects that every pod in the namespace "default"
// needs.
func (l *Lab) waitNamespace(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) error {
		core := l.client.CoreV1()
		if _, err := core.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return fmt.Errorf("get service account: %w", err)
		}
		if _, err := core.ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
			return fmt.Errorf("get root certificate: %w", err)
		}
		return nil
	})
}

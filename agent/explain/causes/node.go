package causes

// nodeChecks are the checks of table/node.yaml.
var nodeChecks []check

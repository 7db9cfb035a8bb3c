package causes

// schedulingChecks are the checks of table/scheduling.yaml.
var schedulingChecks []check

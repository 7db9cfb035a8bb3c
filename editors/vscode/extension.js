// @ts-check
// The extension starts podstep dap, and helps to choose a node and a pod. All else is in podstep.
'use strict';

const { execFile } = require('child_process');
const vscode = require('vscode');

// how long podstep may take to list the pods, in milliseconds
const listWithin = 15000;

/** The node that was chosen last, for the session that begins next. "" is this machine. */
let chosenNode = '';

/** @returns {Record<string, string[]>} */
function nodes() {
  return vscode.workspace.getConfiguration('podstep').get('nodes') || {};
}

/**
 * Returns the command of a node.
 * @param {string | undefined} node
 * @returns {string[]}
 */
function commandOf(node) {
  if (!node) {
    const own = vscode.workspace.getConfiguration('podstep').get('command');
    return Array.isArray(own) && own.length > 0 ? own : ['podstep'];
  }
  const command = nodes()[node];
  if (!Array.isArray(command) || command.length === 0) {
    throw new Error(`podstep: the setting podstep.nodes has no command for the node ${node}`);
  }
  return command;
}

/**
 * Lists the pods that an agent knows.
 * @param {string[]} command
 * @param {string[]} flags
 * @returns {Promise<any[]>}
 */
function listPods(command, flags) {
  const args = [...command.slice(1), 'pods', '-o', 'json', ...flags];
  return new Promise((resolve, reject) => {
    execFile(command[0], args, { timeout: listWithin, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error) {
        reject(new Error((stderr || error.message).trim()));
        return;
      }
      try {
        resolve(JSON.parse(stdout));
      } catch (e) {
        reject(new Error(`podstep pods did not print a list: ${e}`));
      }
    });
  });
}

/**
 * Asks for a node, if there is a choice.
 * @returns {Promise<string | undefined>} its name; "" is this machine, undefined means that the person chose none
 */
async function pickNode() {
  const names = Object.keys(nodes());
  if (names.length === 0) {
    return '';
  }
  const here = { label: 'this machine', node: '' };
  const picked = await vscode.window.showQuickPick([here, ...names.map((node) => ({ label: node, node }))], { title: 'podstep: on which node?' });
  return picked && picked.node;
}

/**
 * Asks for a node and a pod. VS Code calls it for ${command:PickPod}, with the configuration.
 * @param {any} [config]
 * @returns {Promise<string | undefined>}
 */
async function pickPod(config) {
  const node = config && config.node !== undefined ? config.node : await pickNode();
  if (node === undefined) {
    return undefined;
  }
  const flags = config && config.socket ? ['--socket', config.socket] : [];
  let pods;
  try {
    pods = await listPods(commandOf(node), flags);
  } catch (e) {
    vscode.window.showErrorMessage(`podstep: ${e instanceof Error ? e.message : e}`);
    return undefined;
  }
  const items = pods.map((p) => ({ label: `${p.namespace}/${p.name}`, description: [p.state, p.step].filter(Boolean).join(' · '), detail: p.error }));
  const other = { label: 'another pod…', description: 'one that does not exist yet, or a glob' };
  const picked = await vscode.window.showQuickPick([...items, other], { title: 'podstep: which pod?', matchOnDescription: true });
  const name = picked === other ? await vscode.window.showInputBox({ prompt: 'NAME or NAMESPACE/NAME, or a glob such as web-*' }) : picked && picked.label;
  if (name) {
    chosenNode = node;
  }
  return name;
}

/** Fills in what a configuration leaves out. */
const configurations = {
  /**
   * @param {any} _folder
   * @param {any} config
   */
  async resolveDebugConfiguration(_folder, config) {
    if (!config.type && !config.request) { // F5 without a launch.json
      Object.assign(config, { type: 'podstep', request: 'attach', name: 'One pod' });
    }
    if (config.request === 'attach' && !config.pod) {
      config.pod = await pickPod(config);
      if (!config.pod) {
        return undefined;
      }
    }
    return config;
  },

  /**
   * @param {any} _folder
   * @param {any} config
   */
  resolveDebugConfigurationWithSubstitutedVariables(_folder, config) {
    if (config.request === 'attach' && config.node === undefined) {
      config.node = chosenNode;
    }
    chosenNode = '';
    return config;
  },

  provideDebugConfigurations() {
    return [{ type: 'podstep', request: 'attach', name: 'podstep: one pod', pod: '${command:PickPod}' }];
  },
};

const adapters = {
  /** @param {any} session */
  createDebugAdapterDescriptor(session) {
    const command = commandOf(session.configuration.node);
    return new vscode.DebugAdapterExecutable(command[0], [...command.slice(1), 'dap']);
  },
};

/** @param {any} context */
function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand('podstep.pickPod', pickPod),
    vscode.debug.registerDebugConfigurationProvider('podstep', configurations),
    vscode.debug.registerDebugConfigurationProvider('podstep', configurations, vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory('podstep', adapters),
  );
}

function deactivate() {}

module.exports = { activate, deactivate };

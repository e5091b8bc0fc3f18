// Prompts that the models play step by step.

/** A prompt whose text is the script of its turn. */
export const script = (...steps) => JSON.stringify(steps)

export const say = (text) => ({ text })
export const think = (thinking, signature) => ({ thinking, signature })
export const pause = (delay_ms) => ({ delay_ms })
export const fail = (status, more) => ({ error: { status, ...more } })
export const cut = { cut: true }
export const hang = { hang: true }
export const echo = { echo: 'conversation' }

export const tool = (name, input, id) => ({ tool: name, input, id })
export const read = (file_path) => tool('Read', { file_path })
export const write = (file_path, content) => tool('Write', { file_path, content })
export const edit = (file_path, old_string, new_string) => tool('Edit', { file_path, old_string, new_string })
export const bash = (command) => tool('Bash', { command })

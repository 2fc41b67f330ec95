// Compiles definitions of Kaitai Struct to classes of Python.
//
//   node compile.js DEFINITIONS FOLDER

const fs = require("fs");
const path = require("path");
const compiler = require("kaitai-struct-compiler");
const yaml = require("js-yaml");

const [definitions, folder] = process.argv.slice(2);

async function compile(file) {
  const definition = yaml.load(fs.readFileSync(file, "utf8"));
  const importer = { importYaml: (name) => Promise.reject(new Error(`${file} imports ${name}`)) };
  const classes = await compiler.compile("python", definition, importer, false);
  for (const [name, text] of Object.entries(classes)) {
    fs.writeFileSync(path.join(folder, name), text);
  }
}

const files = fs.readdirSync(definitions).filter((name) => name.endsWith(".ksy"));
Promise.all(files.map((name) => compile(path.join(definitions, name)))).catch((error) => {
  console.error(error);
  process.exit(1);
});

import { only, type Profile } from "./command-options.ts";

/** Programs that unpack: what they do when they only list or print. */
const anyOperand = (): boolean => true;

/** A name with a colon may be a file of another machine, which is fetched by another program. */
const isHere = (args: readonly string[]): boolean => !args.some((arg) => arg.includes(":"));

const tarOptions = only({
  flags: "tvzjJ",
  valued: "f",
  long: ["--list", "--verbose", "--gzip", "--bzip2", "--xz", "--numeric-owner", "--full-time"],
  longValued: ["--file"],
  operands: anyOperand,
});

/** `tf a.tar` is `-t -f a.tar`. */
export const tar: Profile = ([first = "", ...rest]) => {
  const args = [/^[tvzjJ]*f?$/.test(first) ? `-${first}` : first, ...rest];
  return (
    args.some((arg) => /^(?:-[tvzjJ]*t[tvzjJ]*f?|--list)$/.test(arg)) && tarOptions(args) && isHere(args)
  );
};

/** `-l` and `-v` list; an option behind the archive's name may say where to unpack. */
export const unzip: Profile = ([first = "", ...rest]) =>
  /^-q?(?:[lv]+|t)q?$/.test(first) && !rest.some((arg) => arg.startsWith("-"));

export const zipinfo: Profile = (args) =>
  args.every((arg) => !arg.startsWith("-") || /^-[12smlvhtT]+$/.test(arg));

/** Prints what is packed, or tells about it: without one of these options the file is replaced. */
export const unpacks: Profile = (args) => {
  const options = args.filter((arg) => arg.startsWith("-") && arg !== "-");
  return (
    options.every((arg) =>
      /^(?:-[cdklqtv]+|--(?:stdout|to-stdout|decompress|keep|list|test|quiet|verbose))$/.test(arg),
    ) && options.some((arg) => /^(?:-\w*[clt]|--(?:stdout|to-stdout|list|test)$)/.test(arg))
  );
};

/** `zcat` and the like only print, and hand their options to another program. */
export const unpacksAlways: Profile = (args) => !args.some((arg) => arg.startsWith("-"));

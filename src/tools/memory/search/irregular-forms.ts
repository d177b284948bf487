import { stemmer } from "stemmer";

/** English forms that no suffix rule reaches, as `base: forms`. Applied before stemming, on both sides. */
const FORMS = `be:was were been am is are
go:went gone goes
buy:bought
bring:brought
think:thought
teach:taught
catch:caught
fight:fought
seek:sought
get:got gotten
give:gave given
take:took taken
make:made
come:came
become:became
see:saw seen
say:said
tell:told
sell:sold
find:found
feel:felt
keep:kept
sleep:slept
leave:left
lose:lost
meet:met
read:reading
run:ran
begin:began begun
drink:drank drunk
swim:swam swum
sing:sang sung
ring:rang rung
write:wrote written
drive:drove driven
ride:rode ridden
rise:rose risen
speak:spoke spoken
break:broke broken
choose:chose chosen
wear:wore worn
tear:tore torn
grow:grew grown
know:knew known
throw:threw thrown
fly:flew flown
draw:drew drawn
show:shown
eat:ate eaten
fall:fell fallen
forget:forgot forgotten
win:won
hold:held
build:built
spend:spent
send:sent
lend:lent
pay:paid
hear:heard
stand:stood
understand:understood
sit:sat
lead:led
feed:fed
wake:woke woken
steal:stole stolen
hide:hid hidden
bite:bit bitten
shoot:shot
stick:stuck
strike:struck
hang:hung
dig:dug
deal:dealt
dream:dreamt
learn:learnt
burn:burnt
mean:meant
have:had has
do:did done does
child:children kid kids
person:people
man:men
woman:women
foot:feet
tooth:teeth
mouse:mice
life:lives
wife:wives
good:better best
bad:worse worst
mom:mother mum mommy
dad:father daddy
photo:photograph picture pic pics
movie:film
tv:television
bike:bicycle`;

/**
 * By a form's spelling and by its stem ("bicycles"), to the stem of the base: what the index calls the word. A form
 * that ends in s has a stem that is a word of its own ("lives", "live").
 */
export const IRREGULAR: ReadonlyMap<string, string> = new Map(
  FORMS.split("\n").flatMap((line) => {
    const [base = "", forms = ""] = line.split(":");
    const term = base.length > 3 ? stemmer(base) : base;
    return forms.split(" ").flatMap((form): [string, string][] => [
      [form.endsWith("s") ? form : stemmer(form), term],
      [form, term],
    ]);
  }),
);

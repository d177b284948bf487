import { fold, termOf } from "./normalise.ts";

/** Words of a question that say nothing about its subject, by language. */
const LISTS: Record<string, string> = {
  en: "a an the of to in on at by for with from and or but is are was were be been being am do does did doing has have had having what when where which who whom whose why how that this these those it its it's as if then than so i you he she we they me him her us them my your his our their will would can could should may might must shall about into not no there here any some much many also just did didn't doesn't don't isn't wasn't what's who's where's when's how's kind type s t likely according mention mentioned describe described considered both during while ever after before other others",
  de: "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren sein wird werden wurde wurden hat haben hatte hatten was wann wo welche welcher welches welchen wer wem wen wie warum wieviel viele es er sie wir ihr ich du in im an am auf aus bei mit nach von vom zu zum zur für über unter durch als dass nicht auch so sich dieser diese dieses diesem diesen jener jene jenes ihre ihren ihrer ihrem ihnen ihm ihn seine seinen seiner seinem mein meine dein deine unser kann können konnte konnten soll sollte sollten muss musste darf will wollte man wieviele wozu woran worauf woraus worin wodurch womit worum wovon wofür wogegen welchem weshalb wieso gibt gab beim bis zwischen während wenn denn noch nur sehr mehr um ohne gegen worden gewesen etwa laut heißt hieß heißen hießen nennt nannte genannt",
  es: "el la los las un una unos unas de del al y o pero es son era eran fue fueron ser sido ha han había qué que cuál cuáles cuándo cuando dónde donde quién quiénes cómo como por para con sin sobre en a se su sus lo le les no cuánto cuántos cuántas más cuanta cuánta cuanto este esta estos estas ese esa esos esas esto eso aquel está están estaba he tiene tenía hay muy también entre hasta desde durante según porque si mi tu me te nos él ella ellos ellas uno cada llama llamaba llamó llamado llamada",
  fr: "le la les un une des du de et ou mais est sont était étaient été être a ont avait que qui quoi quel quelle quels quelles quand où comment pourquoi combien il elle ils elles on nous vous je tu ce cette ces dans en sur par pour avec sans à au aux se sa son ses ne pas lequel laquelle lesquels leur leurs mon ma mes ton ta tes notre votre y plus moins aussi entre jusqu selon pendant depuis si même fait peut faut c'est qu'est s'appelle appelle appelait",
  pt: "o a os as um uma de do da dos das e ou mas é são era foi foram ser que qual quais quando onde quem como por para com sem em no na nos nas se seu sua não quantos quantas ao aos à às pelo pela este esta esse essa isso está estão estava tem tinha há muito mais também entre até desde durante porque meu minha ele ela eles elas",
  it: "il lo la i gli le un uno una di del della dei delle e o ma è sono era erano stato che chi cosa quale quali quando dove come perché per con senza in su da al alla si suo sua non quanti quante l' dello degli allo ai agli alle dal dalla nel nella nei nelle sul sulla questo questa questi quello quella ha hanno aveva più anche tra fra fino durante se mio mia lui lei loro quanto quanta",
  nl: "de het een van en of maar is zijn was waren wordt werd heeft hebben had wat wanneer waar welke wie hoe waarom in op aan bij met naar voor door over uit te dat die er niet ook dit deze dan zo hun haar mijn jouw ons kan kunnen kon moet worden werden geweest hoeveel waarmee waarvoor tussen tijdens volgens om als",
  ru: "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее мне было вот от меня еще нет о из ему когда где кто какой какая какие каком чем сколько был была были это для до их ей им них они оно мы вас нас нам вам мой моя мое мои ваш наш свой кому чего чему кого который которая которое которые каких какого какому какую какое почему зачем куда откуда ли или если при про под над без между после перед быть будет есть может этот эта эти этого этой том также чей чья чьё чьи всё ещё насколько который-то имеет имеют имел имела можно нужно надо ним ними нами себя себе этих этим эту тот та те тех тем называется называют назывался называлась является являются через около во-первых лишь только уже именно",
  ro: "a al ale am ar are au ca care ce cei cu cum când cine câte câți de din în la pe și sau un o unde este sunt fost era pentru prin se unui unei lui ei lor îi îl le mai nu fi fie avea avut către între după până despre acest această acestui acei aceste cărui căror cât câtă fac face făcut făcută poate pot putea care-i cui căreia cărora aceasta acesta aceștia acestea acel acea acele acelea e erau fiind sub doar numai foarte mult multe mulți decât dacă dar însă nici niciun nicio orice fiecare nostru noastră își sa său săi sale s-a s-au a-i într-un într-o dintr-un numește numea",
  tr: "ve veya bir bu da de ile için ne nasıl neden kim hangi kaç nerede mi mı mu mü olan olarak kadar gibi daha çok en o şu ki ise değil var yok nedir kimdir nelerdir hangisi niçin nereye nereden zaman nasıldır niçindir hangisidir hangileri hangisinde kime kimin kimi neyi neye nede nelere nerededir nerelerde kaçıncı hiç her herhangi ya idi imiş olur oldu olduğu olmuş olması olabilir edilir edildi edilen edilebilir eder etti eden etmek yapılır yapıldı yapılan yapılabilir tarafından sonra önce arasında göre karşı üzere üzerinde içinde hakkında bunun bunu buna onun onu ona onlar bazı diğer ancak fakat ama ayrıca mıdır midir mudur müdür mümkün",
  el: "ο η το οι τα του της των τον την στο στη στην στις στους και ή αλλά είναι ήταν τι ποιος ποια ποιο πότε που πώς πόσα πόσοι με για από σε ένα μια ένας μία στα στον σου μου μας σας τους αυτό αυτή αυτός αυτά δεν να θα πως γιατί ποιες ποιοι ποιον ποιαν όταν κατά μετά μεταξύ έχει έχουν είχε υπάρχει ποιους ποιων ποιανού ποιας ποιου πόσο πόση πόσες μπορεί μπορούν μπορούσε οποία οποίο οποίος οποίοι κι ως μέσα προς πριν υπό έγινε γίνεται γίνονται ονομάζεται ονομαζόταν αν ούτε κάθε κάποιος κάτι όπως επίσης πολύ ότι ό,τι εκτός ενώ αλλού ακόμα ήδη",
  vi: "là của và có những các một cho được trong với gì nào ai khi ở đã bao nhiêu không người này đó thì mà như từ đến vào ra tại bởi về cũng đang sẽ bị do nhất hơn sao thế đâu mấy nên trên sau trước theo cùng chỉ hay hoặc nếu lại qua lúc rằng còn chưa vẫn nữa mọi mỗi ấy kia họ chúng tôi",
  ar: "ما ماذا من في على إلى عن متى أين كيف كم هل هو هي هم التي الذي الذين كان كانت يكون هذا هذه ذلك تلك مع أو أن إن لا لم قد بعد قبل بين كل أي لماذا وما عند وهو وهي كانوا لقد منذ حتى عندما حول ضد خلال لها له لهم فيها فيه منها منه عليه عليها بها به تم يتم كما غير أنه أنها لدى أية أيضا ثم مثل هناك حيث لكن يمكن أيا تكون ليس ليست هؤلاء بعض التى بماذا لمن ممن مما فيم",
  hi: "क्या कौन कब कहाँ कहां कैसे कितने कितना कितनी किस किसने किसे किसका किसकी है हैं था थी थे हो हुआ हुई का की के को में से पर और या ने यह वह इस उस एक लिए साथ भी जो कि तक नहीं ही करता करते गया गई किया किये किए किन किनके कौनसा कौनसी कौनसे क्यों जाता जाती जाते जाना जाए सकता सकती सकते रहा रही रहे अपना अपनी अपने द्वारा तो कुछ कोई बाद पहले जब तब उन उनके उनकी उनका इसके इसकी इसका इसे उसके उसकी उसका उसे दौरान अनुसार बीच होता होती होते होना वाला वाली वाले दिया दी लिया जिस जिसके जिसमें कम अधिक तथा एवं बारे",
};

const SETS = Object.values(LISTS).map((list) => new Set(list.split(" ").map(fold)));
const [ENGLISH] = SETS;

/** Rare as they may be in a small memory, these tell little about what is looked for. Terms, not spellings. */
export const LIGHT_WORDS: ReadonlySet<string> = new Set(
  "get make go take do have want need use try start give come look feel think know good great new lot time day"
    .split(" ")
    .map(termOf),
);

/**
 * The stop words of the language the query seems to be in: the one whose list holds most of its words. A word of
 * another language's list is never dropped. One word alone proves no language but English, where most short lists of
 * keywords are written: "son birthday" must not lose its son to Spanish.
 */
export function stopWordsFor(words: readonly string[]): { stop: ReadonlySet<string>; isEnglish: boolean } {
  let best: ReadonlySet<string> = new Set();
  let most = 0;
  for (const set of SETS) {
    const known = words.filter((word) => set.has(word));
    if (set !== ENGLISH && new Set(known).size < 2) continue;
    if (known.length > most) {
      most = known.length;
      best = set;
    }
  }
  return { stop: best, isEnglish: most === 0 || best === ENGLISH };
}
